"""Commits the files of one write as a snapshot of its own, without a seal and without the table's lease.

The swap replaces exactly the metadata in which the write was looked up. So if an engine is suspended before its commit
and another engine finishes the write meanwhile, the first one finds that write instead of committing it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import faults, own_commit
from catchment.commit.listener import Listener
from catchment.errors import Cancelled, StorageUnavailable
from catchment.formats.backoff import attempts
from catchment.formats.iceberg import buffer, snapshot_lookup
from catchment.formats.iceberg.bulk import add_files
from catchment.formats.iceberg.catalogs import branch_of
from catchment.formats.iceberg.conflicts import Fit
from catchment.formats.iceberg.consolidate import descriptors_of, swap
from catchment.formats.iceberg.fence import fence, table_is_same
from catchment.formats.iceberg.snapshots import Snapshot
from catchment.formats.iceberg.table import LakeTable, TableMoved
from catchment.formats.model import Write
from catchment.store.writes import Base, Contents, Entry, Intent, WriteMode

PATIENCE_SECONDS = 1800.0


def commit_rows(
    spark: SparkSession,
    table: LakeTable,
    rows: DataFrame,
    write: Write,
    mode: WriteMode,
    stamps: Mapping[str, str],
    listener: Listener,
    options: Mapping[str, str] | None = None,
) -> Snapshot | None:
    """Write the rows to files and commit them, unless the write is committed by then; None if there are no rows."""
    state = table.state(branch_of(write.output))
    buffer.check_encryption(table, state)
    name = f"{state.data_location}/{own_commit.attempt_name(write.id)}"
    fork = buffer.make(table, state, name)
    try:
        contents = buffer.fill(rows, fork, name, options or {})
    except Exception:
        buffer.discard(table, name)
        raise
    finally:
        fork.remove()
    if not contents.files and mode != "overwrite":
        return None
    return _Commit(spark, table, _entry(write, mode, name, state.base, contents), stamps, listener).run()


@dataclass(frozen=True)
class _Commit:
    """The commit of one write's files."""

    spark: SparkSession
    table: LakeTable
    write: Entry
    stamps: Mapping[str, str]
    listener: Listener
    sent: set[int] = field(default_factory=set)
    """The snapshots that were sent to the catalog."""
    unsure: set[int] = field(default_factory=set)
    """Those of them whose outcome is unknown."""

    def run(self) -> Snapshot:
        """Swap until the history has the write."""
        for _ in attempts(None, seconds=PATIENCE_SECONDS):
            if (done := self._found()) is not None:
                return done
            if (refused := Fit(self.table).refusal(self.write)) is not None:
                if (done := self._applied_late()) is not None:
                    return done
                self._remove_files()
                raise refused
            with suppress(TableMoved):
                staged = self._staged()
                self._check()
                self._send(staged)
        raise StorageUnavailable(
            f"{self.write.intent.target} could not be committed to for {PATIENCE_SECONDS:.0f} s",
            code="commit-contention",
            hint="run the job again when fewer jobs write to the table, or leave `commit: direct` out",
        )

    def _found(self) -> Snapshot | None:
        self.table.refresh()
        done = snapshot_lookup.find_write(self.spark, self.table.java, self.write.write_id)
        if done is not None and done.id not in self.sent:
            self._remove_files()  # the table has the files of another attempt
        return done

    def _applied_late(self) -> Snapshot | None:
        """The write, if a swap whose answer was lost was applied after all; from now on, none can be."""
        if not self.unsure or not table_is_same(self.table, self.write):
            return None
        fence(self.table, self.write.intent.branch, self.write.write_id)
        return self._found()

    def _check(self) -> None:
        """Stop if the job was cancelled: the user may have started another run, and its rows would come twice."""
        try:
            self.listener.check()
        except Cancelled:
            if not self.unsure:
                self._remove_files()
            raise

    def _send(self, transaction: Any) -> None:
        """Send one swap. Whatever the answer, the history decides."""
        before, after = transaction.startMetadata().snapshots().size(), transaction.currentMetadata().snapshots()
        snapshot = int(after.get(before).snapshotId())
        self.sent.add(snapshot)
        if swap(self.table, transaction) is None:
            self.unsure.add(snapshot)
        faults.point("own-commit-applied")

    def _staged(self) -> Any:
        """A transaction with the write, not visible yet."""
        transaction, intent = self.table.transaction(), self.write.intent
        operation = _operation(self.table, transaction, intent.mode)
        add_files(self.spark, operation, descriptors_of(self.write), self.table.java)
        self.table.tables.stage(operation, intent.branch, json.dumps(dict(self.stamps)))
        faults.point("before-own-commit")
        return transaction

    def _remove_files(self) -> None:
        for file in descriptors_of(self.write):
            self.table.java.io().deleteFile(file["file-path"])


def _operation(table: LakeTable, transaction: Any, mode: WriteMode) -> Any:
    """An operation of a transaction."""
    if mode == "append":
        return transaction.newAppend()
    if mode == "overwrite-partitions":
        return transaction.newReplacePartitions()
    everything = table.jvm.iceberg("expressions.Expressions").alwaysTrue()
    return transaction.newOverwrite().overwriteByRowFilter(everything)


def _entry(write: Write, mode: WriteMode, buffer: str, base: Base, contents: Contents) -> Entry:
    """The write as a ledger entry, although the ledger does not have it."""
    output = write.output
    intent = Intent(
        *(write.id, write.workflow, output.dataset.address, branch_of(output), mode, "last-wins", "", buffer, base),
        dataset={},
    )
    return Entry(intent, "sealed", tried=False, contents=contents, snapshot_id=None, error=None)
