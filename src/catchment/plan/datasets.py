"""Resolves addresses to datasets: tables of a catalog, tables at a path, files at a path, or topics of a server."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Literal

from catchment.errors import RequestError
from catchment.formats.registry import held_by, traits_of
from catchment.plan.model import Dataset, FileAddress
from catchment.project import depots
from catchment.project.address import LOCALHOST, BadAddress, is_identifier, is_path, parse, parse_path
from catchment.project.model import Address, Depot, Project, Upkeep, home_in

_COMPRESSION = frozenset({".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate"})

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")

Role = Literal["input", "output"]


def of_input(text: str, given: str | None, project: Project) -> Dataset:
    """The dataset that an input reads; raises `RequestError` if the address cannot be resolved."""
    address = address_of(text, project)
    if address.dataset is None:
        raise BadAddress(f"`{text}` names no dataset", code="no-dataset", hint="append /dataset to the collection")
    return _resolve(address, given, "input", project)


def of_output(text: str, name: str, given: str | None, project: Project) -> Dataset:
    """The dataset that an output writes; if the address has no dataset, the output's name is used."""
    address = address_of(text, project)
    if address.acl == "r":
        raise RequestError(f"`{text}` may only be read", code="read-only-output", hint="use `?acl=rw` to write to it")
    if address.dataset is None:
        address = parse(str(replace(address, dataset=name)))
    dataset = _resolve(address, given, "output", project)
    _check_overlap(dataset, project)
    return dataset


def of_maintained(text: str, project: Project, *, reading: bool = False) -> Dataset:
    """The dataset to maintain; files without a suffix have the depot's first format.

    With `reading`, the caller only wants to know what maintenance would do.
    """
    address = address_of(text, project)
    if address.acl == "r" and not reading:
        raise RequestError(
            f"`{text}` may only be read, and maintenance changes it",
            code="read-only-input",
            hint="append ?acl=rw to the address, or leave the acl out",
        )
    if address.dataset is None:
        raise BadAddress(f"`{text}` names no dataset", code="no-dataset", hint="append /dataset to the collection")
    return _resolve(address, None, "output", project)


def upkeep_of(project: Project, table: Dataset) -> Upkeep:
    """What the project says of a table, or else of its depot."""
    return project.maintain.get(table.address) or project.maintain.get(table.depot) or Upkeep()


def address_of(text: str, project: Project) -> Address:
    """The address of a dataset; in a project without depots, `text` may be a plain path."""
    if not is_path(text):
        return parse(text)
    if depots.takes_paths(project):
        return parse_path(text, project.root)
    raise BadAddress(
        f"`{text}` is a path, and this project has depots",
        hint="add a depot of kind files whose location is its directory, and write dataos://depot:none/dataset",
    )


def of_file(text: str, project: Project) -> FileAddress:
    """The file that an address names; raises `RequestError` if it cannot be resolved."""
    address = parse(text)
    if address.dataset is None:
        raise BadAddress(f"`{text}` names no file", code="no-dataset", hint="append /file to the collection")
    depot = depots.find(project, address.depot)
    if depots.is_servers(depot):
        raise BadAddress(f"`{text}` names no file: depot `{depot.name}` has none", hint="name a file in another depot")
    return FileAddress(_of_files(address, depot), depot.name, place_of_files(address, depot))


def nested(inner: str, outer: str) -> bool:
    """Whether a path or URI is equal to another one or below it."""
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def same_place(one: Dataset, other: Dataset) -> bool:
    """Whether two datasets are the same table, or directories of files that overlap."""
    if one.path is None or other.path is None or one.is_table or other.is_table:
        return one.address == other.address and one.path == other.path
    return nested(str(one.path), str(other.path)) or nested(str(other.path), str(one.path))


def _resolve(address: Address, given: str | None, role: Role, project: Project) -> Dataset:
    depot = depots.find(project, address.depot)
    if depot.name == LOCALHOST and given and traits_of(given).is_table:
        raise RequestError(
            f"not supported yet: a table at a path, in the format {given}",
            code="unsupported-table-path",
            hint="name the table: dataos://lakehouse:collection/table; this depot needs no configuration",
        )
    format = _format(address, given, role, depot)
    if depots.is_servers(depot):
        return _topic(address, format, depot)
    if traits_of(format).is_table:
        return _table(str(replace(address, depot=depot.name)), address, format, depot)
    return Dataset(_of_files(address, depot), depot.name, format, path=place_of_files(address, depot))


def place_of_files(address: Address, depot: Depot) -> str:
    """The path or URI of the files that an address names."""
    return depots.place(depot, _segments(address))


def _of_files(address: Address, depot: Depot) -> str:
    """The canonical address of files: `drop:none/a/b` and `drop:a/b` are the same."""
    first, *rest = _segments(address)
    named = bool(rest) and first != "none"
    return str(Address(depot.name, first if named else None, "/".join(rest if named else [first, *rest]), None))


def _segments(address: Address) -> list[str]:
    return [part for part in (address.collection, *str(address.dataset).split("/")) if part]


def _topic(address: Address, format: str, depot: Depot) -> Dataset:
    name = str(address.dataset)
    if address.collection not in (None, "default"):
        raise BadAddress(
            f"`{address}` names a collection, and topics are in none", hint=f"write dataos://{depot.name}:none/{name}"
        )
    if not _TOPIC.fullmatch(name):
        raise BadAddress(
            f"`{name}` in `{address}` is not a valid name for a topic",
            hint="use up to 249 letters, digits, `.`, `_` and `-`",
        )
    return Dataset(str(Address(depot.name, None, name, None)), depot.name, format, topic=name)


def _table(canonical: str, address: Address, format: str, depot: Depot) -> Dataset:
    if address.collection is None:
        raise BadAddress(
            f"`{canonical}` names a table without its collection",
            hint=f"tables of depot `{depot.name}` live in a collection: dataos://{depot.name}:collection/table",
        )
    for name in (address.collection, str(address.dataset)):
        if not is_identifier(name):
            raise BadAddress(
                f"`{name}` in `{canonical}` is not a valid name for a table or a collection",
                hint="use letters, digits, `_` and `-`",
            )
    names, traits = (address.collection, str(address.dataset)), traits_of(format)
    named = depot.catalog is not None
    if named and (bad := next((name for name in names if set(name) & set(traits.forbidden_in_names)), None)):
        raise BadAddress(
            f"the catalog of `{depot.name}` does not accept the name `{bad}` in `{canonical}`",
            hint=f"use a name without `{traits.forbidden_in_names}`",
        )
    if not traits.by_path:
        return Dataset(canonical, depot.name, format, *names)
    return Dataset(canonical, depot.name, format, *names, depots.place(depot, names), named)


def _format(address: Address, given: str | None, role: Role, depot: Depot) -> str:
    held = held_by(depot.kind)
    if given is not None:
        return _given_format(given, depot)
    suffix = _suffix(str(address.dataset))
    by_suffix = (traits.suffixes[suffix] for traits in held if suffix in traits.suffixes)
    if (written := next(by_suffix, None)) is not None:
        return written
    if role == "input" and not held[0].is_table and not held[0].servers:
        raise RequestError(
            f"the format of `{address}` is not known",
            code="no-format",
            hint=f"add `format`: one of {', '.join(held[0].formats)}",
        )
    return held[0].formats[0]


def _given_format(given: str, depot: Depot) -> str:
    held = [name for traits in held_by(depot.kind) for name in traits.formats]
    if given not in held:
        raise RequestError(
            f"depot `{depot.name}` is of kind {depot.kind} and cannot hold `{given}`",
            code="format-mismatch",
            hint=f"use one of {', '.join(held)}, or the address of another depot",
        )
    return given


def _suffix(dataset: str) -> str:
    suffixes = PurePosixPath(dataset).suffixes
    if suffixes and suffixes[-1].lower() in _COMPRESSION:
        suffixes.pop()
    return suffixes[-1].lower() if suffixes else ""


def _check_overlap(dataset: Dataset, project: Project) -> None:
    """Raise if files would be written over the location of tables of another depot."""
    location = depots.find(project, dataset.depot).location
    if dataset.path is None or (project.file is None and nested(location, str(project.home))):
        return  # in a catalog, or embedded
    others = (depot for depot in project.depots.values() if depots.holds_tables(depot) and depot.name != dataset.depot)
    tables = {f"depot `{depot.name}`": depot.warehouse for depot in others}
    for what, place in {**tables, "Catchment itself": str(home_in(project.root, None))}.items():
        if place and (nested(dataset.path, place) or nested(place, dataset.path)):
            raise RequestError(
                f"`{dataset.address}` would write files into the location of {what}",
                code="depots-overlap",
                hint="write to another dataset, or give the depots locations of their own",
            )
