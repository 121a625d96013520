"""Finds the depot of an address, and the path inside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os.path import realpath
from pathlib import Path

from catchment.errors import RequestError
from catchment.formats.registry import all_traits, held_by
from catchment.formats.traits import Traits
from catchment.project.address import LOCALHOST, AddressEscapes, is_depot_name
from catchment.project.model import EMBEDDED, Catalog, Depot, Project
from catchment.spec.validation import did_you_mean

SYNONYMS = {"icebase": "lakehouse", "lakehouse": "icebase"}
"""Two names for the same lake: workflows of the dialect use either."""

PUBLISHED = "_published"
"""The suffix of the published catalog of an embedded depot."""

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class UnknownDepot(RequestError):
    """The project has no depot of this name."""

    code = "unknown-depot"


def find(project: Project, name: str) -> Depot:
    """The depot of this name; without a project file every unconfigured depot is embedded."""
    for candidate in (name, SYNONYMS.get(name, name)):
        if candidate in project.depots:
            return project.depots[candidate]
    if name == LOCALHOST and takes_paths(project):
        return Depot(LOCALHOST, next(each.name for each in held_by(EMBEDDED) if not each.is_table), "/")
    if project.file is None:
        _refuse_published(name)
        return embedded(project.home, name)
    hint = did_you_mean(name, project.depots) or f"add it to `depots` in {project.file.name}"
    raise UnknownDepot(f"the project has no depot `{name}`", hint=hint)


def embedded(home: Path, name: str) -> Depot:
    """The depot that needs no configuration: tables on an SQLite catalog and plain files under `.catchment/`."""
    place = home_of(home, name)
    catalog = Catalog("jdbc", database=str(place / "catalog.db"))
    return Depot(name, EMBEDDED, str(place), catalog, publish=f"{name}{PUBLISHED}")


def takes_paths(project: Project) -> bool:
    """Whether datasets may be named by plain paths: only if no depots are configured."""
    return project.file is None or not project.depots


def embedded_kinds() -> tuple[Traits, ...]:
    """The formats whose tables need nothing but a directory, so that an embedded depot may be of their kind."""
    return tuple(each for each in all_traits() if each.is_table and each.by_path and not each.catalog_required)


def embedded_of_kind(home: Path, name: str, kind: str) -> Depot:
    """An embedded depot that holds the tables of one format and nothing else."""
    return Depot(name, kind, str(home_of(home, name) / kind))


def kinds_on_disk(home: Path) -> dict[str, Depot]:
    """The embedded depots of one format that earlier runs have created, by name."""
    kinds = [each.name for each in embedded_kinds()]
    places = sorted(home_of(home, "x").parent.glob("*"))
    found = [(place.name, kind) for place in places for kind in kinds if (place / kind).is_dir()]
    return {name: embedded_of_kind(home, name, kind) for name, kind in found if is_depot_name(name)}


def _refuse_published(name: str) -> None:
    depot = name.removesuffix(PUBLISHED)
    if depot != name:
        raise UnknownDepot(
            f"`{name}` is not a depot but the published catalog of `{depot}`",
            hint=f"name the depot `{depot}`; SQL may name tables as {name}.collection.table",
        )


def embedded_on_disk(project: Project) -> tuple[Depot, ...]:
    """The embedded depots that earlier runs have created, in order of name."""
    catalogs = sorted((project.home / "depots").glob("*/catalog.db"))
    names = (catalog.parent.name for catalog in catalogs)
    return tuple(embedded(project.home, name) for name in names if is_depot_name(name) and name not in project.depots)


def known(project: Project) -> tuple[Depot, ...]:
    """Every depot of a project: the configured ones, and the embedded ones that exist on disk."""
    return *project.depots.values(), *embedded_on_disk(project)


def holds_tables(depot: Depot) -> bool:
    """Whether a depot can hold tables, not only plain files."""
    return any(traits.is_table for traits in held_by(depot.kind))


def is_servers(depot: Depot) -> bool:
    """Whether a depot is a list of servers, and not a place with tables or files."""
    return any(traits.servers for traits in held_by(depot.kind))


def home_of(home: Path, name: str) -> Path:
    """The directory in which Catchment keeps the data of one depot."""
    return home / "depots" / name


def is_uri(location: str) -> bool:
    """Whether a location is a URI; otherwise it is a path on this machine."""
    return _URI.match(location) is not None


def place(depot: Depot, segments: Sequence[str]) -> str:
    """The path or URI of files inside a depot; for local paths, symbolic links must not lead out of it."""
    if is_uri(depot.files):
        return "/".join([depot.files.rstrip("/"), *segments])
    # Not `Path.resolve`, which raises before Python 3.13 if a link points to itself.
    base = Path(realpath(depot.files))
    path = Path(realpath(base.joinpath(*segments)))
    if base not in path.parents:
        raise AddressEscapes(
            f"`{'/'.join(segments)}` is a symbolic link that leads to depot `{depot.name}` itself or out of it",
            hint="put the data inside the depot, or configure a depot for its real location",
        )
    return str(path)
