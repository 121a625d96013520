"""Answers some questions about Paimon tables without an engine: which tables exist, and which snapshots they have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from catchment.formats import jdbc_catalogs
from catchment.formats.facts import Facts, listed_tables
from catchment.formats.metadata_reading import Access, NeedsEngine
from catchment.formats.missing_tables import table_not_found
from catchment.formats.paimon.snapshot_facts import snapshot_facts
from catchment.formats.paimon.snapshot_files import Snapshot
from catchment.formats.s3_access import of_hadoop
from catchment.formats.store_files import LocalFiles, S3Files, StoreFiles, bucket_of, scheme_of
from catchment.plan.model import Dataset
from catchment.project.model import Depot
from catchment.table_health import TableHealth

READ_AT_ONCE = 8
DATABASE = ".db"
"""The suffix of database directories."""
TABLES = "paimon_tables"
_SCHEMA, _SNAPSHOT = re.compile(r"schema-\d+"), re.compile(r"snapshot-(\d+)")
_OF_STORES = ("fs.", "s3.", "s3a.", "hadoop.")
"""Prefixes of properties that change how the catalog reaches its store."""


def open_reader(depot: Depot, access: Access) -> PaimonReader:
    """The reader of a depot."""
    properties = access.below(f"spark.sql.catalog.{depot.name}.")
    kind, place = properties.get("metastore", ""), properties.get("warehouse", "")
    if kind not in ("filesystem", "jdbc"):
        raise NeedsEngine(f"only engines read catalogs of type {kind}")
    if strange := next((key for key in properties if key.startswith(_OF_STORES)), None):
        raise NeedsEngine(f"{strange} is set")
    scheme = scheme_of(place)
    if scheme not in ("", "file", "s3a"):
        raise NeedsEngine(f"only engines read {scheme}://")
    files = S3Files(of_hadoop(bucket_of(place), access)) if scheme == "s3a" else LocalFiles()
    return PaimonReader(depot, place.rstrip("/"), properties, files)


@dataclass(frozen=True)
class PaimonReader:
    """The tables of one depot."""

    depot: Depot
    place: str
    properties: Mapping[str, str]
    files: StoreFiles

    def tables(self) -> Sequence[Facts]:
        """Every table of the catalog."""
        return listed_tables(self.depot.name, self._in_database() if self._keeps_rows else self._in_directories())

    def inspect(self, what: str, dataset: Dataset) -> Facts:
        """The snapshots of a table."""
        if what != "snapshots":
            raise NeedsEngine(f"only engines read the {what} of Paimon tables")
        return {"snapshots": [snapshot_facts(each) for each in self._snapshots(dataset)]}

    def head(self, dataset: Dataset) -> str | None:
        """Not supported: only engines read what comes next, the health of the table."""
        raise NeedsEngine("only engines read the files of Paimon tables")

    def health(
        self, dataset: Dataset, small_file_bytes: int | None, compacted: Callable[[], float | None]
    ) -> TableHealth:
        """Not supported: only engines read Paimon's manifests."""
        raise NeedsEngine("only engines read the files of Paimon tables")

    @property
    def _keeps_rows(self) -> bool:
        return self.properties["metastore"] == "jdbc"

    def _rows(self, **names: str) -> list[tuple[str, str]]:
        key = self.properties.get("catalog-key", "jdbc")
        rows = jdbc_catalogs.select(self.properties, TABLES, {"catalog_key": key, **names})
        return [(str(row["database_name"]), str(row["table_name"])) for row in rows]

    def _in_database(self) -> Iterator[tuple[str, str]]:
        yield from self._rows()

    def _in_directories(self) -> Iterator[tuple[str, str]]:
        spaces = [name for name in self._directories(self.place) if name.endswith(DATABASE)]
        named = [(space, name) for space in spaces for name in self._directories(f"{self.place}/{space}")]
        with ThreadPoolExecutor(READ_AT_ONCE) as threads:
            there = threads.map(lambda pair: self._has_schema("/".join((self.place, *pair))), named)
            for (space, name), is_table in zip(named, there, strict=True):
                if is_table:
                    yield space.removesuffix(DATABASE), name

    def _snapshots(self, dataset: Dataset) -> Sequence[Snapshot]:
        """The newest snapshot and those before it that still exist, oldest first."""
        place = f"{self.place}/{dataset.namespace}{DATABASE}/{dataset.table}"
        if self._keeps_rows:
            known = bool(self._rows(database_name=str(dataset.namespace), table_name=str(dataset.table)))
        else:
            known = self._has_schema(place)
        if not known:
            raise table_not_found(dataset)
        names = (_SNAPSHOT.fullmatch(each.path) for each in self.files.listed(f"{place}/snapshot"))
        numbers = sorted((int(name[1]) for name in names if name), reverse=True)
        line = [number for index, number in enumerate(numbers) if number == numbers[0] - index]
        with ThreadPoolExecutor(READ_AT_ONCE) as threads:
            try:
                texts = list(threads.map(lambda number: self.files.read(f"{place}/snapshot/snapshot-{number}"), line))
            except FileNotFoundError as error:
                raise NeedsEngine("a snapshot was expired meanwhile") from error
        return [Snapshot.of(text.decode()) for text in reversed(texts)]

    def _directories(self, location: str) -> list[str]:
        return [each.path for each in self.files.listed(location) if each.is_directory]

    def _has_schema(self, table: str) -> bool:
        return any(_SCHEMA.fullmatch(each.path) for each in self.files.listed(f"{table}/schema"))
