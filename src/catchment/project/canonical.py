"""Turns a parsed `catchment.yaml` into a project: makes paths absolute and reports contradictions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from catchment.errors import RequestError
from catchment.formats.registry import all_traits, held_by, supporting
from catchment.formats.traits import Traits
from catchment.project.address import RESERVED_DEPOTS, is_address, is_depot_name, parse
from catchment.project.depots import home_of, is_uri
from catchment.project.grammar import (
    ENGINE_NAME,
    CatalogEntry,
    DepotEntry,
    EngineEntry,
    MaintainEntry,
    NotifyEntry,
    ProjectFile,
    SettingsEntry,
)
from catchment.project.model import (
    Address,
    Catalog,
    Depot,
    Engine,
    Hook,
    Project,
    Settings,
    Thresholds,
    Upkeep,
    home_in,
)
from catchment.project.places import absolute, default_metastore, metastore_url, server_list, servers_of
from catchment.project.spark_versions import installed_at
from catchment.spec.findings import Findings
from catchment.spec.tree import Found, Node, follow
from catchment.spec.validation import did_you_mean

_NAME_HINT = "begin with a letter or digit, then letters, digits, `_` and `-`"


@dataclass
class Canonical:
    """Turns one project file into a project, and collects its problems."""

    file: Path
    node: Node
    findings: Findings
    environment: str | None = None

    @property
    def root(self) -> Path:
        """Where relative paths start."""
        return self.file.parent

    def project(self, entry: ProjectFile) -> Project:
        """The project, which is valid only if no error was found."""
        engines = {name: self._engine(name, engine) for name, engine in entry.engines.items()}
        engines.setdefault("default", Engine("default"))
        depots = {name: self._depot(name, depot) for name, depot in entry.depots.items()}
        self._check_one_catalog(depots)
        self._check_published(depots)
        self._check_shared_catalogs(depots)
        return Project(
            self.root,
            self.file,
            self._metastore(entry.metastore or default_metastore(self.environment)),
            depots,
            engines,
            settings=_settings(entry.settings),
            include_paths=tuple(self._include_path(text, index) for index, text in enumerate(entry.include_paths)),
            maintain=dict(self._maintain(entry.maintain, depots)),
            notify=tuple(self._hook(name, hook) for name, hook in entry.notify.items()),
            environment=self.environment,
            resident=entry.resident,
        )

    def _maintain(
        self, entries: Mapping[str, MaintainEntry], depots: Mapping[str, Depot]
    ) -> Iterator[tuple[str, Upkeep]]:
        """The upkeep of each depot, and of each table by its canonical address."""
        for name in entries:
            address = self._maintained(name, depots)
            if address is not None:
                yield str(address) if is_address(name) else name, self._upkeep(name, address.depot, entries)

    def _maintained(self, name: str, depots: Mapping[str, Depot]) -> Address | None:
        """The depot or the table that an entry of `maintain` applies to; None if it names neither."""
        where = self._at("maintain", name).key_where
        try:
            address = parse(name) if is_address(name) else Address(name, None, None, None)
        except RequestError as error:
            self.findings.error(error.code, error.message, where, error.hint)
            return None
        if address.depot not in depots:
            hint = did_you_mean(address.depot, depots) or "name a depot of this file, or a table in one"
            self.findings.error("unknown-depot", f"the project has no depot `{address.depot}`", where, hint)
        elif is_address(name) and address.dataset is None:
            self.findings.error("no-dataset", f"`{name}` names no table", where, "append /table, or name the depot")
        elif is_address(name) and address.acl == "r":
            message = f"`{name}` may only be read, and maintenance changes it"
            self.findings.error("read-only-input", message, where, "leave the acl out")
        return address

    def _upkeep(self, name: str, depot: str, entries: Mapping[str, MaintainEntry]) -> Upkeep:
        """The upkeep of a depot, or of a table, for which its depot says whatever its own entry leaves out."""
        own = entries[name]
        given = {field: getattr(own, field) for field in own.model_fields_set}
        entry = entries.get(depot, own).model_copy(update=given)
        limits = (entry.small_files, entry.small_file_size, entry.delete_files, entry.level0_files)
        said = name if "small_file_size" in given else depot
        where = self._at("maintain", said, "small_file_size").node.where if entry.small_file_size is not None else None
        return Upkeep(Thresholds(*limits, entry.age, entry.quiet, where), entry.retention)

    def _hook(self, name: str, entry: NotifyEntry) -> Hook:
        found = self._at("notify", name)
        if not re.fullmatch(ENGINE_NAME, name):
            self.findings.error(
                "bad-hook-name", f"`{name}` is not a valid name for a hook", found.key_where, _NAME_HINT
            )
        if (entry.webhook is None) == (entry.command is None):
            message = f"hook `{name}` needs either a `webhook` or a `command`"
            self.findings.error("bad-hook", message, found.key_where, "give exactly one of them")
        if entry.webhook is not None and not entry.webhook.startswith(("http://", "https://")):
            hint = "write an address that begins with https://"
            where = self._at("notify", name, "webhook").node.where
            self.findings.error("bad-hook", f"the webhook of `{name}` is not a web address", where, hint)
        if ("run-late" in entry.on) != (entry.late_after is not None):
            message = f"hook `{name}`: `run-late` and `late_after` belong together"
            hint = "add `late_after: 30m`" if entry.late_after is None else "add `run-late` to `on`"
            self.findings.error("bad-hook", message, found.key_where, hint)
        return Hook(name, entry.webhook, tuple(entry.command or ()), tuple(entry.on), entry.late_after)

    def _include_path(self, text: str, index: int) -> Path:
        where = self._at("include_paths", index).node.where
        if is_uri(text):
            self.findings.error("bad-include-path", f"`{text}` is not a directory", where, "write a local path")
            return self.root
        return Path(self._path(text, "include_paths", index))

    def _metastore(self, url: str) -> str:
        try:
            return metastore_url(url, self.root)
        except RequestError as error:
            self.findings.error(error.code, error.message, self._at("metastore").node.where, error.hint)
            return url

    def _engine(self, name: str, entry: EngineEntry) -> Engine:
        where = self._at("engines", name).key_where
        if not re.fullmatch(ENGINE_NAME, name):
            self.findings.error("bad-engine-name", f"`{name}` is not a valid name for an engine", where, _NAME_HINT)
        home = entry.spark_home and self._path(entry.spark_home, "engines", name, "spark_home")
        line = self._line_of(name, entry, home) if home else entry.spark
        return Engine(name, line, entry.master, entry.isolation, entry.conf, tuple(entry.packages), home, where=where)

    def _line_of(self, name: str, entry: EngineEntry, home: str) -> str:
        """The line of the Spark at `spark_home`; if `spark` is given, it must agree."""
        where = self._at("engines", name, "spark_home").node.where
        try:
            found = installed_at(Path(home))
        except RequestError as error:
            self.findings.error(error.code, error.message, where, error.hint)
            return entry.spark
        if "spark" in entry.model_fields_set and entry.spark != found.line:
            message = f"`spark` is {entry.spark}, and the Spark at {home} is {found.version}"
            self.findings.error(
                "spark-home-differs", message, where, f'remove `spark`, or write `spark: "{found.line}"`'
            )
        return found.line

    def _depot(self, name: str, entry: DepotEntry) -> Depot:
        where = self._at("depots", name).key_where
        if not is_depot_name(name):
            own = name in RESERVED_DEPOTS
            message = (
                f"`{name}` is reserved for a catalog of Spark" if own else f"`{name}` is not a valid name for a depot"
            )
            hint = "choose another name" if own else "begin with a letter, then letters, digits, `_` and `-`"
            self.findings.error("bad-depot-name", message, where, hint)
        (traits,) = held_by(entry.kind)
        for setting, (code, message, hint) in traits.check_conf(entry.conf):
            self.findings.error(code, message, self._at("depots", name, "conf", setting).key_where, hint)
        catalog = self._catalog_entry(name, entry, traits)
        location = self._location(name, entry, traits, catalog)
        depot = Depot(
            *(name, entry.kind, location, self._catalog(name, catalog, traits, location) if catalog else None),
            *(entry.conf, where, self._publish(name, entry, traits, catalog)),
        )
        self._check_guard(depot, traits, "catalog" if entry.catalog else "location")
        return depot

    def _check_guard(self, depot: Depot, traits: Traits, cause: str) -> None:
        """Report locks that a depot's catalog does not have, and a depot that would need one."""
        refused = list(traits.check_catalog(depot))
        for key, (code, message, hint) in refused:
            where = self._at("depots", depot.name, "catalog", "properties", key).key_where
            self.findings.error(code, message, where, hint)
        for code, message, hint in () if refused else traits.check_guard(depot):
            self.findings.warning(code, message, self._at("depots", depot.name, cause).key_where, hint)

    def _catalog_entry(self, name: str, entry: DepotEntry, traits: Traits) -> CatalogEntry | None:
        if entry.catalog is None:
            return CatalogEntry.model_validate({"type": traits.default_catalog}) if traits.catalog_required else None
        at = self._at("depots", name, "catalog").key_where
        if not traits.catalogs:
            hint = f"remove `catalog`, or use kind {supporting('catalogs')}"
            self.findings.error("misplaced-key", f"depots of kind {traits.name} have no catalog", at, hint)
            return None
        if entry.catalog.type not in traits.catalogs:
            message = (
                f"a {entry.catalog.type} catalog cannot keep the tables of `{name}`, which is of kind {traits.name}"
            )
            by_path = "" if traits.catalog_required else ", or remove `catalog`: tables are found by their path"
            hint = f"write `type: {' or '.join(traits.catalogs)}`{by_path}"
            self.findings.error("unsupported-catalog", message, at, hint)
            return None
        return entry.catalog

    def _publish(self, name: str, entry: DepotEntry, traits: Traits, catalog: CatalogEntry | None) -> str | None:
        if entry.publish is None:
            return None
        found = self._at("depots", name, "publish")
        if not traits.publishes_with:
            what = f"tables of kind {traits.name} cannot be published"
            hint = f"remove `publish`, or use kind {supporting('publishes_with')}"
            self.findings.error("misplaced-key", what, found.key_where, hint)
        elif catalog and catalog.type not in traits.publishes_with:
            message = f"not supported: a published catalog beside the {catalog.type} catalog of `{name}`"
            known = " or ".join(sorted(traits.publishes_with))
            hint = f"remove `publish`: only a {known} catalog can switch the published version in one step"
            self.findings.error("unsupported-publish", message, found.node.where, hint)
        elif not is_depot_name(entry.publish):
            hint = "begin with a letter, then letters, digits, `_` and `-`"
            self.findings.error(
                "bad-publish", f"`{entry.publish}` is not a valid name for a catalog", found.node.where, hint
            )
        return entry.publish

    def _check_published(self, depots: Mapping[str, Depot]) -> None:
        """Report name clashes: depots and published catalogs share one namespace in SQL."""
        taken = set(depots)
        for depot in depots.values():
            if depot.publish in taken:
                where = self._at("depots", depot.name, "publish").node.where
                message = f"`{depot.publish}` is the name of another depot or published catalog"
                self.findings.error("bad-publish", message, where, "choose another name")
            taken.add(depot.publish or depot.name)

    def _check_one_catalog(self, depots: Mapping[str, Depot]) -> None:
        """Report depots with different catalogs of a format for which Spark has only one catalog."""
        for traits in (each for each in all_traits() if each.one_catalog):
            known = [depot for depot in depots.values() if depot.kind == traits.name and depot.catalog]
            for depot in (each for each in known if each.catalog != known[0].catalog):
                at = self._at("depots", depot.name, "catalog").key_where
                message = f"`{depot.name}` has another catalog than `{known[0].name}`"
                hint = f"Spark has one catalog for all tables of kind {traits.name}: give both the same `catalog`"
                self.findings.error("catalogs-differ", message, at, hint)

    def _check_shared_catalogs(self, depots: Mapping[str, Depot]) -> None:
        """Report depots that share a catalog: each would have leases and sealed writes unknown to the other."""
        known: dict[tuple[str, str, str], str] = {}
        for depot in depots.values():
            (traits,) = held_by(depot.kind)
            if not (traits.catalog_required and depot.catalog):
                continue
            of_type = traits.catalogs[depot.catalog.type]
            if of_type.keeps_depots_apart:
                continue
            # An optional location only says where new tables go; the catalog finds existing tables without it.
            location = "" if of_type.location == "optional" else depot.location.rstrip("/")
            servers = [(depot.catalog.type, server, location) for server in servers_of(depot.catalog.uri)]
            same = next((known[each] for each in servers if each in known), None)
            known |= dict.fromkeys(servers, same or depot.name)
            if same:
                where = self._at("depots", depot.name).key_where
                message = f"`{depot.name}` has the same catalog as `{same}`"
                self.findings.error("catalog-shared", message, where, f"use the depot `{same}` for all of its tables")

    def _location(self, name: str, entry: DepotEntry, traits: Traits, catalog: CatalogEntry | None) -> str:
        location = traits.catalogs[catalog.type].location if catalog else "required"
        if entry.location is None:
            if location == "required":
                where = self._at("depots", name).key_where
                self.findings.error("missing-field", f"`location` is missing in `{name}`", where, "add `location:`")
            return ""
        if traits.servers:
            return self._servers(entry.location, name)
        return entry.location if location == "name" else self._path(entry.location, "depots", name, "location")

    def _servers(self, text: str, name: str) -> str:
        try:
            return server_list(text)
        except RequestError as error:
            where = self._at("depots", name, "location").node.where
            self.findings.error(error.code, error.message, where, error.hint)
            return text

    def _path(self, text: str, *at: str | int) -> str:
        try:
            return absolute(text, self.root)
        except RequestError as error:
            self.findings.error(error.code, error.message, self._at(*at).node.where, error.hint)
            return text

    def _catalog(self, name: str, entry: CatalogEntry, traits: Traits, location: str) -> Catalog:
        if traits.catalogs[entry.type].loses_commits:
            where = self._at("depots", name, "catalog", "type").node.where
            message = f"the {entry.type} catalog of `{name}` loses commits when two processes write"
            safe = [kind for kind, catalog in traits.catalogs.items() if not catalog.loses_commits]
            hint = f"use type {' or '.join(safe)} unless only one engine ever writes"
            self.findings.warning("hadoop-catalog", message, where, hint)
        self._check_uri(name, entry, traits)
        database = None
        if entry.type == "jdbc" and entry.uri is None:
            # Next to the tables, so that all projects on this lake share the catalog; a remote store cannot hold it.
            home = home_in(self.root, self.environment)
            keeper = home_of(home, name) if is_uri(location) else Path(location)
            database = str(keeper / "catalog.db")
        return Catalog(entry.type, entry.uri, database, entry.properties)

    def _check_uri(self, name: str, entry: CatalogEntry, traits: Traits) -> None:
        known = traits.catalogs[entry.type]
        if entry.uri is None:
            if known.needs_uri:
                where = self._at("depots", name, "catalog").key_where
                message = f"the {entry.type} catalog of `{name}` has no `uri`"
                self.findings.error("missing-field", message, where, f"add `uri: {known.uri[0]}…`")
        elif not entry.uri.startswith(known.uri) or not known.uri:
            hint = (
                f"begin with {' or '.join(known.uri)}" if known.uri else "remove it: its tables are found by `location`"
            )
            where = self._at("depots", name, "catalog", "uri").node.where
            self.findings.error("bad-catalog-uri", f"this is not a valid uri for a {entry.type} catalog", where, hint)

    def _at(self, *path: str | int) -> Found:
        return follow(self.node, path)


def _settings(entry: SettingsEntry) -> Settings:
    return Settings(entry.max_pending, entry.keep_days, entry.linger, tuple(entry.pass_environment))
