"""Other tables of the same catalog, whose files are not orphans, wherever they are."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from catchment.errors import JobError, Retryable
from catchment.formats.failures import from_spark
from catchment.formats.iceberg import catalogs
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.maintenance.retention import published_retention
from catchment.formats.iceberg.table import LakeTable
from catchment.jvm.classes import listed
from catchment.plan.model import Dataset

_BEFORE_THE_PATH = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?")


@dataclass(frozen=True)
class Neighbours:
    """What all other tables of a catalog need in a directory, at one moment."""

    tables: tuple[MaintainedTable, ...] = ()
    """Tables that keep files in the directory, or above or below it."""
    names: frozenset[str] = frozenset()
    """Directories of unfinished writes and files of published versions, by name; they are always kept."""
    oldest: float = float("inf")
    """In seconds since 1970; a write to one of the tables may have written newer files that nothing refers to yet."""


def neighbours(maintained: MaintainedTable, place: str) -> Neighbours:
    """Find out where every other table of the catalog has its files; raises if one of them cannot be read."""
    found, names, oldest = [], set[str](), [float("inf")]
    for dataset in _others(maintained):
        other = replace(maintained, dataset=dataset, needs=maintained.needs.of(dataset.target))
        # Read before the table: a write that is open now and published a moment later would look like an orphan.
        waiting = other.needs.writes()
        names |= waiting.buffers
        table = _load(maintained, dataset)
        if table is not None and any(_overlap(place, each) for each in _locations(maintained, table)):
            other = replace(other, table=table)
            found.append(other)
            names |= published_retention(other).files
            oldest.append(waiting.oldest)
    return Neighbours(tuple(found), frozenset(names), min(oldest))


def _others(maintained: MaintainedTable) -> Iterator[Dataset]:
    depot, catalog = maintained.dataset.depot, catalogs.open_catalog(maintained.spark, maintained.dataset.depot)
    for namespace in _namespaces(catalog, listed(catalog.listNamespaces())):
        for name in sorted(str(found.name()) for found in listed(catalog.listTables(namespace))):
            address = f"dataos://{depot}:{namespace}/{name}"
            if address != maintained.dataset.address:
                yield replace(maintained.dataset, address=address, namespace=str(namespace), table=name)


def _namespaces(catalog: Any, among: Sequence[Any]) -> Iterator[Any]:
    for namespace in among:
        yield namespace
        yield from _namespaces(catalog, listed(catalog.listNamespaces(namespace)))


def _load(maintained: MaintainedTable, dataset: Dataset) -> Table | None:
    """The table; None if it was dropped since it was listed."""
    try:
        return catalogs.find_table(maintained.spark, dataset)
    except Exception as error:
        problem = from_spark(error, otherwise="table-unreadable")
        if isinstance(problem, Retryable):
            raise problem from error
        raise JobError(
            f"{dataset.address}, another table of the catalog, cannot be read, so nobody knows which files it needs: "
            f"{problem.message}",
            code="table-unreadable",
            hint=f"no file of {maintained.dataset.address} was removed; repair or drop that table, then try again",
            detail=problem.detail,
        ) from error


def _locations(maintained: MaintainedTable, table: Table) -> tuple[str, ...]:
    """Where a table keeps its files, according to its metadata."""
    state = LakeTable(maintained.spark, table).state()
    set_apart = (value for key, value in state.properties.items() if key.startswith("write.") and key.endswith(".path"))
    return (state.location, *set_apart)


def _overlap(one: str, other: str) -> bool:
    """Whether one location is the other or inside it, ignoring scheme and host; in doubt they overlap."""
    first, second = (f"{posixpath.normpath(_BEFORE_THE_PATH.sub('', each)).rstrip('/')}/" for each in (one, other))
    return first.startswith(second) or second.startswith(first)
