"""Answers questions about Delta tables without an engine: delta-rs reads their state, the log has their commits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from catchment.formats.delta import file_health
from catchment.formats.delta.commits import Commit
from catchment.formats.delta.table_facts import TableState, Totals, files_facts, snapshot_facts, table_facts
from catchment.formats.facts import Facts, listed_tables
from catchment.formats.metadata_reading import Access, NeedsEngine
from catchment.formats.missing_tables import table_not_found
from catchment.formats.s3_access import S3Access, of_hadoop
from catchment.formats.store_files import LocalFiles, S3Files, StoreFiles, bucket_of, scheme_of
from catchment.plan.model import Dataset
from catchment.project.model import Depot
from catchment.run_model import snapshot_name
from catchment.table_health import PartitionHealth, TableHealth

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = "_delta_log"
READ_AT_ONCE = 8
MOST_FILES = 100_000
"""The files of larger tables are counted by engines: Python is slow, and has all of them in its memory."""
ATTEMPTS = {"connect_timeout": "5s", "timeout": "30s", "max_retries": "2"}
"""Short, because an engine is tried next, which waits longer."""
COMMITTED_ELSEWHERE = frozenset({"coordinatedCommits-preview", "catalogManaged", "catalogOwned-preview"})
"""Features of tables whose newest commits are not in their log."""
DELETION_VECTORS = "deletionVectors"
IN_COMMIT_TIMES = "delta.enableInCommitTimestamps"
_COMMIT_FILE = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"\d{20}\.checkpoint\..*")


def open_reader(depot: Depot, access: Access) -> DeltaReader:
    """The reader of a depot."""
    if depot.catalog is not None:
        raise NeedsEngine(f"only engines read catalogs of type {depot.catalog.type}")
    scheme = scheme_of(depot.files)
    if scheme in ("", "file"):
        return DeltaReader(depot, LocalFiles(), None)
    if scheme != "s3a":
        raise NeedsEngine(f"only engines read {scheme}://")
    s3 = of_hadoop(bucket_of(depot.files), access)
    return DeltaReader(depot, S3Files(s3), s3)


@dataclass(frozen=True)
class DeltaReader:
    """The tables of one depot."""

    depot: Depot
    files: StoreFiles
    s3: S3Access | None

    def tables(self) -> Sequence[Facts]:
        """All directories `collection/table` that have a log."""
        spaces = self._directories(self.depot.files)
        with ThreadPoolExecutor(READ_AT_ONCE) as threads:
            inside = threads.map(lambda space: self._directories(f"{self.depot.files}/{space}"), spaces)
            names = [(space, name) for space, found in zip(spaces, inside, strict=True) for name in found]
            logs = threads.map(lambda pair: self._has_log("/".join((self.depot.files, *pair))), names)
            return listed_tables(self.depot.name, [pair for pair, has in zip(names, logs, strict=True) if has])

    def inspect(self, what: str, dataset: Dataset) -> Facts:
        """Answer one question about a table."""
        table = self._table(dataset)
        if what == "snapshots":
            return {"snapshots": [snapshot_facts(commit, at) for commit, at in table.history()]}
        found = table.files()
        if what == "files":
            return {"files": files_facts(dataset, ((file.path, file.rows, file.bytes) for file in found))}
        totals = Totals(sum(file.rows or 0 for file in found), len(found), sum(file.bytes for file in found))
        return table_facts(dataset, table.state(), totals, len(table.versions))

    def head(self, dataset: Dataset) -> str | None:
        """The newest version."""
        return snapshot_name(self._table(dataset).table.version())

    def health(
        self, dataset: Dataset, small_file_bytes: int | None, compacted: Callable[[], float | None]
    ) -> TableHealth:
        """The live files by partition."""
        table = self._table(dataset)
        limits = file_health.size_limits(table.properties, small_file_bytes)
        found = list(table.partitions(limits[1]))
        newest = (table.commit(version) for version in reversed(table.versions))
        return file_health.health_of(dataset, table.state().version, limits, found, newest, compacted())

    def _table(self, dataset: Dataset) -> LoggedTable:
        place = str(dataset.path)
        if not any(_COMMIT_FILE.fullmatch(name) or _CHECKPOINT.fullmatch(name) for name in self._log(place)):
            raise table_not_found(dataset)
        table = _opened(place, self.s3)
        # Listed again, because others may have committed since; what is newer than the state is left out.
        return LoggedTable(place, self.files, self._log(place), table)

    def _log(self, place: str) -> dict[str, float]:
        return {each.path: each.modified for each in self.files.listed(f"{place}/{LOG}") if not each.is_directory}

    def _directories(self, location: str) -> list[str]:
        return [each.path for each in self.files.listed(location) if each.is_directory]

    def _has_log(self, location: str) -> bool:
        return LOG in self._directories(location)


@dataclass(frozen=True)
class DataFile:
    """A data file of the newest version."""

    path: str
    rows: int | None
    bytes: int
    modified: float
    partition: dict[str, Any]


@dataclass(frozen=True)
class LoggedTable:
    """One table: its state from delta-rs, and the files of its log."""

    place: str
    store: StoreFiles
    log: dict[str, float]
    """The files of the log, with the times at which they were written."""
    table: DeltaTable

    @cached_property
    def versions(self) -> list[int]:
        """The versions whose commits are in the log, oldest first, without those that are newer than the state."""
        found = (_COMMIT_FILE.fullmatch(name) for name in self.log)
        return sorted(int(name[1]) for name in found if name and int(name[1]) <= self.table.version())

    @cached_property
    def properties(self) -> dict[str, str]:
        """The properties of the table."""
        return dict(self.table.metadata().configuration)

    def state(self) -> TableState:
        """The newest version."""
        protocol = self.table.protocol()
        columns = tuple(self.table.metadata().partition_columns)
        schema = str(self.table.schema().to_json())
        return TableState(self.table.version(), protocol.min_writer_version, schema, columns, self.properties)

    def files(self, most: float = math.inf) -> list[DataFile]:
        """The data files of the newest version; raises `NeedsEngine` if there are more than so many."""
        found = self.table.get_add_actions(flatten=False)
        if found.num_rows > most:
            raise NeedsEngine(f"the table has {found.num_rows:,} files")
        columns: dict[str, list[Any]] = {
            name: list(found.column(name).to_pylist()) for name in found.column_names if name in _OF_FILES
        }
        partitions: list[dict[str, Any]] = columns.get("partition") or [{}] * found.num_rows
        rows: list[int | None] = columns.get("num_records") or [None] * found.num_rows
        known = (columns[name] for name in ("path", "size_bytes", "modification_time"))
        return [
            DataFile(path, count, size, millis / 1000, partition)
            for path, size, millis, count, partition in zip(*known, rows, partitions, strict=True)
        ]

    def partitions(self, limit: int) -> Iterator[PartitionHealth]:
        """Totals of the files by partition; files below `limit` count as small."""
        if DELETION_VECTORS in (self.table.protocol().reader_features or ()):
            raise NeedsEngine("delta-rs does not count deletion vectors")
        by_values: dict[tuple[str | None, ...], list[DataFile]] = {}
        names = self.table.metadata().partition_columns
        for file in self.files(MOST_FILES):
            by_values.setdefault(tuple(_text(file.partition[name]) for name in names), []).append(file)
        for values, files in by_values.items():
            small = [file.bytes for file in files if file.bytes < limit]
            yield PartitionHealth(
                dict(zip(names, values, strict=True)),
                *(len(files), sum(file.bytes for file in files), len(small), sum(small)),
                changed=max(file.modified for file in files),
            )

    def commit(self, version: int) -> Commit:
        """The commit of one version."""
        try:
            lines = self.store.read(f"{self.place}/{LOG}/{version:020}.json").splitlines()
        except FileNotFoundError as error:
            raise NeedsEngine(f"version {version} was removed from the log meanwhile") from error
        for action in map(json.loads, lines):
            if "commitInfo" in action:
                return Commit(version, action["commitInfo"])
        raise NeedsEngine(f"version {version} does not say who made it")

    def history(self) -> Iterator[tuple[Commit, datetime]]:
        """Every commit in the log with its time, oldest first.

        The time is when the file was written, unless the commit records its own; no two commits have the same time.
        """
        last, own = 0, self.properties.get(IN_COMMIT_TIMES, "").lower() == "true"
        with ThreadPoolExecutor(READ_AT_ONCE) as threads:
            for commit in threads.map(self.commit, self.versions):
                written = int(self.log[f"{commit.version:020}.json"] * 1000)
                millis = max(commit.info.get("inCommitTimestamp", written) if own else written, last + 1)
                last = millis
                yield commit, datetime.fromtimestamp(millis / 1000, tz=timezone.utc)


_OF_FILES = frozenset({"path", "size_bytes", "modification_time", "num_records", "partition"})


def _opened(place: str, s3: S3Access | None) -> DeltaTable:
    from deltalake import DeltaTable

    try:
        table = DeltaTable(place, storage_options=_options(s3) if s3 else None)
    except Exception as error:
        raise NeedsEngine(f"delta-rs cannot read the table: {type(error).__name__}: {error}") from error
    if COMMITTED_ELSEWHERE.intersection(table.protocol().writer_features or ()):
        raise NeedsEngine("a catalog has the newest commits of the table")
    return table


def _options(s3: S3Access) -> dict[str, str]:
    options = {
        "AWS_ACCESS_KEY_ID": s3.key,
        "AWS_SECRET_ACCESS_KEY": s3.secret,
        "AWS_SESSION_TOKEN": s3.token,
        "AWS_REGION": s3.region,
        "AWS_ENDPOINT_URL": s3.endpoint,
        "AWS_ALLOW_HTTP": str((s3.endpoint or "").startswith("http://")).lower(),
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": str(not s3.path_style).lower(),
        **ATTEMPTS,
    }
    return {key: value for key, value in options.items() if value is not None}


def _text(value: Any) -> str | None:
    """A partition value as the log spells it; for other types, delta-rs does not show that spelling."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime) or not isinstance(value, int | date | Decimal):
        raise NeedsEngine(f"a partition value is a {type(value).__name__}")
    return str(value)
