"""Commits the files of one write as a snapshot of its own, without a seal and without the table's lease.

The swap replaces exactly the metadata in which the write was looked for. So an engine that was suspended before its
commit, and whose write another engine has finished meanwhile, finds that write instead of committing it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import faults, own_commit
from catchment.errors import StorageUnavailable
from catchment.formats.backoff import attempts
from catchment.formats.iceberg import buffer, snapshots
from catchment.formats.iceberg.catalogs import branch_of
from catchment.formats.iceberg.conflicts import refusal
from catchment.formats.iceberg.consolidate import swap
from catchment.formats.iceberg.snapshots import Snapshot
from catchment.formats.iceberg.table import MAIN, LakeTable
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
    options: Mapping[str, str] | None = None,
) -> Snapshot | None:
    """Write the rows to files and commit them, unless the write is committed by then; None if there are no rows."""
    name = f"{table.data_location}/{own_commit.attempt_name(write.id)}"
    base, fork = table.base(branch_of(write.output)), buffer.make(table, name)
    try:
        faults.point("before-data-written")
        files = list(fork.fill(rows, options or {}))
        faults.point("data-written")
    finally:
        fork.remove()
    if not files and mode != "overwrite":
        return None
    return _Commit(spark, table, files, _entry(write, mode, name, base, files), stamps).run()


@dataclass(frozen=True)
class _Commit:
    """The commit of one write's files."""

    spark: SparkSession
    table: LakeTable
    files: Sequence[Any]
    write: Entry
    stamps: Mapping[str, str]
    sent: set[int] = field(default_factory=set)
    """The snapshots that were sent to the catalog."""

    def run(self) -> Snapshot:
        """Swap until the history has the write."""
        for _ in attempts(None, seconds=PATIENCE_SECONDS):
            if (done := self._found()) is not None:
                return done
            if (refused := refusal(self.table, self.write)) is not None:
                self._remove_files()
                raise refused
            # Whatever it answers: the history decides.
            swap(self.table, self._staged())
            faults.point("own-commit-applied")
        raise StorageUnavailable(
            f"{self.write.intent.target} could not be committed to for {PATIENCE_SECONDS:.0f} s",
            code="commit-contention",
            hint="run the job again when fewer jobs write to the table, or leave `commit: direct` out",
        )

    def _found(self) -> Snapshot | None:
        self.table.refresh()
        done = snapshots.find_write(self.spark, self.table.java, self.write.write_id)
        if done is not None and done.id not in self.sent:
            self._remove_files()  # the table has those of another attempt
        return done

    def _staged(self) -> Any:
        """A transaction with the write, not visible yet."""
        transaction, intent = self.table.java.newTransaction(), self.write.intent
        operation = _operation(self.table, transaction, intent.mode)
        add = operation.appendFile if intent.mode == "append" else operation.addFile
        for file in self.files:
            add(file)
        if intent.branch != MAIN:
            operation.toBranch(intent.branch)
        for key, value in self.stamps.items():
            operation.set(key, value)
        operation.commit()
        before, after = transaction.startMetadata().snapshots().size(), transaction.currentMetadata().snapshots()
        self.sent.add(int(after.get(before).snapshotId()))
        faults.point("before-own-commit")
        return transaction

    def _remove_files(self) -> None:
        for file in self.files:
            self.table.java.io().deleteFile(file.location())


def _operation(table: LakeTable, transaction: Any, mode: WriteMode) -> Any:
    if mode == "append":
        return transaction.newAppend()
    if mode == "overwrite-partitions":
        return transaction.newReplacePartitions()
    return transaction.newOverwrite().overwriteByRowFilter(table.jvm.iceberg("expressions.Expressions").alwaysTrue())


def _entry(write: Write, mode: WriteMode, buffer: str, base: Base, files: Sequence[Any]) -> Entry:
    """The write as it would be in the ledger, which does not have it."""
    output, specs = write.output, {int(file.specId()) for file in files}
    intent = Intent(
        *(write.id, write.workflow, output.dataset.address, branch_of(output), mode, "last-wins", "", buffer, base),
        dataset={},
    )
    contents = Contents(tuple({"spec-id": spec} for spec in specs), 0, 0, len(files))
    return Entry(intent, "sealed", tried=False, contents=contents, snapshot_id=None, error=None)
