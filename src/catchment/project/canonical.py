"""From the grammar of `catchment.yaml` to the frozen project: paths made absolute, what contradicts itself refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from catchment.errors import Position, RequestError
from catchment.project.address import RESERVED_DEPOTS, is_depot_name
from catchment.project.depots import home_of, is_uri
from catchment.project.grammar import ENGINE_NAME, CatalogEntry, DepotEntry, EngineEntry, ProjectFile
from catchment.project.model import Catalog, Depot, Engine, Project, Settings
from catchment.project.places import absolute, metastore_url
from catchment.spec.findings import Findings
from catchment.spec.tree import Found, Node, follow

_NAME_HINT = "begin with a letter or digit, then letters, digits, `_` and `-`"


@dataclass
class Canonical:
    """Turns one project file into a project; tells what is wrong with it."""

    file: Path
    node: Node
    findings: Findings

    @property
    def root(self) -> Path:
        """Where relative paths start."""
        return self.file.parent

    def project(self, entry: ProjectFile) -> Project:
        """The project; to be used only where no error was found."""
        engines = {name: self._engine(name, engine) for name, engine in entry.engines.items()}
        engines.setdefault("default", Engine("default"))
        depots = {name: self._depot(name, depot) for name, depot in entry.depots.items()}
        self._check_one_metastore(depots)
        self._check_published(depots)
        return Project(
            self.root,
            self.file,
            self._metastore(entry.metastore),
            depots,
            engines,
            settings=Settings(entry.settings.max_pending),
        )

    def _metastore(self, url: str) -> str:
        try:
            return metastore_url(url, self.root)
        except RequestError as error:
            self.findings.error(error.code, error.message, self._at("metastore").node.where, error.hint)
            return url

    def _engine(self, name: str, entry: EngineEntry) -> Engine:
        where = self._at("engines", name).key_where
        if not re.fullmatch(ENGINE_NAME, name):
            self.findings.error("bad-engine-name", f"`{name}` is no name for an engine", where, _NAME_HINT)
        home = entry.spark_home and self._path(entry.spark_home, "engines", name, "spark_home")
        return Engine(
            name, entry.spark, entry.master, entry.isolation, entry.conf, tuple(entry.packages), home, where=where
        )

    def _depot(self, name: str, entry: DepotEntry) -> Depot:
        where = self._at("depots", name).key_where
        if not is_depot_name(name):
            own = name in RESERVED_DEPOTS
            message = f"`{name}` is a catalog of Spark's own" if own else f"`{name}` is no name for a depot"
            hint = "choose another name" if own else "begin with a letter, then letters, digits, `_` and `-`"
            self.findings.error("bad-depot-name", message, where, hint)
        if entry.kind != "iceberg":
            self._refuse_publish(name, entry)
        if entry.kind == "files":
            return self._files(name, entry, where)
        if entry.kind == "delta":
            return Depot(name, "delta", self._location(name, entry, None), self._hive(name, entry), entry.conf, where)
        catalog = entry.catalog or CatalogEntry.model_validate({})
        location = self._location(name, entry, catalog)
        publish = self._publish(name, entry, catalog)
        return Depot(name, "iceberg", location, self._catalog(name, catalog, location), entry.conf, where, publish)

    def _publish(self, name: str, entry: DepotEntry, catalog: CatalogEntry) -> str | None:
        if entry.publish is None:
            return None
        where = self._at("depots", name, "publish").node.where
        if catalog.type != "jdbc":
            message = f"not supported: a published catalog beside the {catalog.type} catalog of `{name}`"
            hint = "only in the database of a jdbc catalog can what readers see be moved in one step; remove `publish`"
            self.findings.error("unsupported-publish", message, where, hint)
        elif not is_depot_name(entry.publish):
            hint = "begin with a letter, then letters, digits, `_` and `-`"
            self.findings.error("bad-publish", f"`{entry.publish}` is no name for a catalog", where, hint)
        return entry.publish

    def _check_published(self, depots: Mapping[str, Depot]) -> None:
        """In SQL, depots and published catalogs stand side by side."""
        taken = set(depots)
        for depot in depots.values():
            if depot.publish in taken:
                where = self._at("depots", depot.name, "publish").node.where
                message = f"`{depot.publish}` is the name of another depot or published catalog"
                self.findings.error("bad-publish", message, where, "choose another name")
            taken.add(depot.publish or depot.name)

    def _refuse_publish(self, name: str, entry: DepotEntry) -> None:
        if entry.publish is not None:
            at = self._at("depots", name, "publish").key_where
            what = "only tables of an Iceberg catalog can be published"
            self.findings.error("misplaced-key", what, at, "remove `publish`, or use kind iceberg")

    def _files(self, name: str, entry: DepotEntry, where: Position) -> Depot:
        if entry.catalog is not None:
            at = self._at("depots", name, "catalog").key_where
            self.findings.error(
                "misplaced-key", "plain files have no catalog", at, "remove `catalog`, or use kind iceberg"
            )
        return Depot(name, "files", self._location(name, entry, None), None, entry.conf, where)

    def _hive(self, name: str, entry: DepotEntry) -> Catalog | None:
        """The catalog of a Delta depot: Spark's own, which a Hive metastore keeps for everybody."""
        if entry.catalog is None:
            return None
        if entry.catalog.type != "hive" or entry.catalog.uri is None:
            at = self._at("depots", name, "catalog").key_where
            message = f"the catalog of `{name}` is no Hive metastore, and no other knows Delta tables"
            hint = "write `type: hive` and `uri: thrift://host:9083`, or remove `catalog`: tables are found by path"
            self.findings.error("bad-delta-catalog", message, at, hint)
        self._check_uri(name, entry.catalog)
        return Catalog("hive", entry.catalog.uri, None, entry.catalog.properties)

    def _check_one_metastore(self, depots: Mapping[str, Depot]) -> None:
        """Spark has one catalog of its own, so the Delta depots of a project share one Hive metastore."""
        first = None
        for depot in (each for each in depots.values() if each.kind == "delta" and each.catalog):
            first = first or depot
            if depot.catalog != first.catalog:
                at = self._at("depots", depot.name, "catalog").key_where
                message = f"`{depot.name}` has another Hive metastore than `{first.name}`"
                hint = "Spark has one catalog of its own for Delta tables: give both the same `catalog`"
                self.findings.error("catalogs-differ", message, at, hint)

    def _location(self, name: str, entry: DepotEntry, catalog: CatalogEntry | None) -> str:
        optional = catalog is not None and catalog.type in ("rest", "hive")
        if entry.location is None:
            if not optional:
                where = self._at("depots", name).key_where
                self.findings.error("missing-field", f"`location` is missing in `{name}`", where, "add `location:`")
            return ""
        # What a rest catalog calls its warehouse is a word between it and us, not a path.
        if catalog is not None and catalog.type == "rest":
            return entry.location
        return self._path(entry.location, "depots", name, "location")

    def _path(self, text: str, *at: str) -> str:
        try:
            return absolute(text, self.root)
        except RequestError as error:
            self.findings.error(error.code, error.message, self._at(*at).node.where, error.hint)
            return text

    def _catalog(self, name: str, entry: CatalogEntry, location: str) -> Catalog:
        if entry.type == "hadoop":
            where = self._at("depots", name, "catalog", "type").node.where
            message = f"the hadoop catalog of `{name}` loses commits when two processes write"
            hint = "use type jdbc, rest or hive unless only one engine ever writes"
            self.findings.warning("hadoop-catalog", message, where, hint)
        self._check_uri(name, entry)
        database = None
        if entry.type == "jdbc" and entry.uri is None:
            # Beside the tables, so that every project on this lake sees one catalog; a remote store cannot hold it.
            keeper = home_of(self.root, name) if is_uri(location) else Path(location)
            database = str(keeper / "catalog.db")
        return Catalog(entry.type, entry.uri, database, entry.properties)

    def _check_uri(self, name: str, entry: CatalogEntry) -> None:
        starts = {"jdbc": ("jdbc:",), "rest": ("http://", "https://"), "hive": ("thrift://",), "hadoop": ()}[entry.type]
        if entry.uri is None:
            if entry.type == "rest":
                where = self._at("depots", name, "catalog").key_where
                self.findings.error("missing-field", f"the rest catalog of `{name}` has no `uri`", where, "add `uri:`")
        elif not entry.uri.startswith(starts) or not starts:
            hint = f"begin with {' or '.join(starts)}" if starts else "remove it: its tables are found by `location`"
            where = self._at("depots", name, "catalog", "uri").node.where
            self.findings.error("bad-catalog-uri", f"a {entry.type} catalog has no such uri", where, hint)

    def _at(self, *path: str) -> Found:
        return follow(self.node, path)
