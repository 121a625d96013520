"""Forks of a table: private copies that Spark's Iceberg writer writes to, and that are never committed.

A fork exists only in the driver's memory. It has the metadata of its table (schemas, partition specs, sort orders and
their ids) and its file access; only new data files go to another directory. Spark writes to it in the way Iceberg's
compaction does: the caller gets the new files, and nothing is committed.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.commit import faults
from catchment.errors import JobError, StorageUnavailable
from catchment.formats.iceberg import bulk, fanout
from catchment.formats.iceberg.java import tables
from catchment.formats.iceberg.table import LakeTable, TableState
from catchment.formats.iceberg.traits import FORKS
from catchment.jvm.causes import JVM_ERRORS
from catchment.store.writes import Contents

ROW_LINEAGE = ("_row_id", "_last_updated_sequence_number")
"""Columns that compaction preserves from format v3 on. They are null for new rows, which the table then numbers."""

ENCRYPTION_KEY = "encryption.key-id"


@dataclass(frozen=True)
class Fork:
    """One write's private view of a table."""

    name: str
    java: Any
    """Iceberg's table object."""
    session: SparkSession

    format_version: int

    def fill(self, frame: DataFrame, options: Mapping[str, str]) -> Any:
        """Write the rows and return a Java list of Iceberg's data files, which only the caller knows."""
        if self.format_version > 2:
            frame = frame.withColumns({column: F.lit(None).cast("long") for column in ROW_LINEAGE})
        # Spark 4 recognises a rewrite by the catalog, Spark 3.5 by the table's name and an option.
        old = frame.sparkSession.version.startswith("3.")
        identifier = f"{FORKS}.`{self.name}{'#rewrite' if old else ''}`"
        handed_over = {"rewritten-file-scan-task-set-id": self.name} if old else {}
        frame, settled = fanout.settle(frame, self.java, options)
        frame.writeTo(identifier).options(**settled, **handed_over).append()
        return tables(self.session).takeFiles(self.java, self.name)

    def remove(self) -> None:
        """Remove the fork; its data files stay."""
        tables(self.session).removeFork(self.name)


def make(table: LakeTable, state: TableState, buffer: str) -> Fork:
    """Fork the current state of a table; data files will be written to the directory `buffer`."""
    name = uuid.uuid4().hex
    return Fork(name, table.tables.fork(table.java, name, buffer), table.session, state.format_version)


def check_sealable(table: LakeTable, state: TableState) -> None:
    """Raise if the table is encrypted: the ledger would have the keys of its files, which only Iceberg protects."""
    if ENCRYPTION_KEY in state.properties:
        raise JobError(
            f"{table.java.name()} is encrypted, and the metastore must not have the keys of its files",
            code="encrypted-table",
            hint="set `commit: direct` on the output, so that its files are committed without being recorded first",
        )


def check_encryption(table: LakeTable, state: TableState) -> None:
    """Raise if the table is to be encrypted, and its catalog does not encrypt."""
    if ENCRYPTION_KEY in state.properties and not table.tables.encrypts(table.java):
        raise JobError(
            f"{table.java.name()} has the property {ENCRYPTION_KEY}, but its catalog does not encrypt: Iceberg would "
            "write its files as plain text",
            code="encryption-unavailable",
            hint="use a hive catalog with `encryption.kms-impl` or `encryption.kms-type` under its `properties`, or "
            "remove the property from the table if its files need not be encrypted",
        )


def fill(frame: DataFrame, fork: Fork, buffer: str, options: Mapping[str, str]) -> Contents:
    """Write the frame into the buffer and describe its files, after checking that the store has them completely."""
    faults.point("before-data-written")
    files = fork.fill(frame, options)
    faults.point("data-written")
    descriptors = bulk.describe(fork.session, files, fork.java)
    _check(fork, buffer, descriptors)
    rows, size = (sum(int(d[key]) for d in descriptors) for key in ("record-count", "file-size-in-bytes"))
    return Contents(descriptors, rows, size, len(descriptors))


def discard(table: LakeTable, buffer: str) -> None:
    """Remove the files of an attempt that has failed, which no snapshot can ever refer to."""
    with suppress(*JVM_ERRORS):  # the first error is the one to report
        table.java.io().deletePrefix(f"{buffer}/")


def missing_file(table: LakeTable, buffer: str, paths: Sequence[str]) -> str | None:
    """A file of a sealed buffer that is no longer in the store; None if all are there."""
    io = table.java.io()
    if not paths or not io.newInputFile(paths[0]).exists():
        return next(iter(paths), None)
    stored = {_inside(buffer, file.location()) for file in io.listPrefix(buffer).iterator()}
    return next((path for path in paths if _inside(buffer, path) not in stored), None)


def _check(fork: Fork, buffer: str, descriptors: Sequence[Mapping[str, Any]]) -> None:
    """Check that every file is in the store with its full length, because commits do not check that."""
    stored = _stored(fork, buffer, [descriptor["file-path"] for descriptor in descriptors])
    for descriptor in descriptors:
        name, written = _inside(buffer, descriptor["file-path"]), int(descriptor["file-size-in-bytes"])
        if stored.get(name) != written:
            raise _damaged(buffer, f"{name} should have {written} bytes, and has {stored.get(name, 'vanished')}")


def _stored(fork: Fork, buffer: str, paths: list[str]) -> dict[str, int]:
    """The lengths of the files in the store, read with as few requests as possible."""
    if len(paths) < 2:
        return {_inside(buffer, path): int(tables(fork.session).length(fork.java, path)) for path in paths}
    return {_inside(buffer, f.location()): int(f.size()) for f in fork.java.io().listPrefix(buffer).iterator()}


def _inside(buffer: str, path: str) -> str:
    """A path relative to the buffer. Stores spell the path of a directory in several ways, but never its own name."""
    return path.rpartition(buffer.rpartition("/")[2])[2]


def _damaged(buffer: str, why: str) -> StorageUnavailable:
    return StorageUnavailable(
        f"the buffer {buffer} does not have the files that were written: {why}",
        code="buffer-damaged",
        hint="nothing was published; if it happens again, check whether another program removes files from the table",
    )
