"""Reads the history of a table: rows added between snapshots, the current head, and earlier attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import own_commit
from catchment.commit.writer import Writer
from catchment.formats import reading_by_commits
from catchment.formats.iceberg import catalogs, snapshot_lookup
from catchment.formats.iceberg.snapshots import Snapshot
from catchment.formats.iceberg.table import MAIN, LakeTable
from catchment.formats.model import EarlierWrite, Write, written
from catchment.plan.model import InputPlan, OutputPlan
from catchment.store.writes import Base

ADDS = frozenset({"append", "replace"})
"""Operations that do not change existing rows; `replace` (compaction) only moves them."""


def span(spark: SparkSession, source: InputPlan, known: str | None) -> tuple[str | None, str] | None:
    """The snapshot that was read last, and the newest one; None if the table is empty."""
    metadata = LakeTable(spark, catalogs.require_table(spark, source.dataset)).metadata()
    newest = metadata.get("refs", {}).get(MAIN, {}).get("snapshot-id") or metadata.get("current-snapshot-id")
    if newest in (None, -1):
        return None
    line = _line(metadata, newest)
    first = int(known) if known is not None else _at(source, line, reading_by_commits.since(source))
    if first is not None:
        _check(source, line, first)
    return (None if first is None else str(first)), str(newest)


def read(spark: SparkSession, source: InputPlan, first: str | None, last: str) -> DataFrame:
    """The rows that were appended after one snapshot, up to another."""
    # The window may be old: check that the snapshots it was opened for still exist.
    line = _line(LakeTable(spark, catalogs.require_table(spark, source.dataset)).metadata(), int(last))
    if not line:
        raise reading_by_commits.gone(source, f"the snapshot {last}, the end of an open window,")
    if first is not None:
        _check(source, line, int(first))
    span = {"versionAsOf": last} if first is None else {"start-snapshot-id": first, "end-snapshot-id": last}
    return spark.read.format("iceberg").options(**source.options, **span).load(source.dataset.identifier)


def commits_after(spark: SparkSession, source: InputPlan, offset: Mapping[str, Any]) -> int | None:
    """The number of snapshots after the one that a stream has reached; None if the table does not have that one."""
    table = LakeTable(spark, catalogs.require_table(spark, source.dataset))
    newest, reached = table.head(MAIN), offset.get("snapshot_id", -1)
    if newest is None or table.java.snapshot(reached) is None:
        return None
    if newest.snapshotId() == reached:  # Iceberg would count all snapshots
        return 0
    return len(table.jvm.iceberg("util.SnapshotUtil").snapshotIdsBetween(table.java, reached, newest.snapshotId()))


def _line(metadata: Mapping[str, Any], newest: int) -> list[Mapping[str, Any]]:
    """The newest snapshot and its ancestors, back to the oldest that still exists."""
    known = {entry["snapshot-id"]: entry for entry in metadata.get("snapshots", ())}

    def walk(at: int | None) -> Iterator[Mapping[str, Any]]:
        while at is not None and at in known:
            yield known[at]
            at = known[at].get("parent-snapshot-id")

    return list(walk(newest))


def _at(source: InputPlan, line: list[Mapping[str, Any]], moment: datetime | None) -> int | None:
    """The snapshot that was current at a moment; None if the table had none yet."""
    if moment is None:
        return None
    millis = moment.timestamp() * 1000
    before = next((entry for entry in line if entry["timestamp-ms"] <= millis), None)
    if before is not None:
        return int(before["snapshot-id"])
    if line[-1].get("parent-snapshot-id") is not None:
        raise reading_by_commits.gone(source, f"the snapshot that was current at {moment.isoformat()}")
    return None


def _check(source: InputPlan, line: list[Mapping[str, Any]], first: int) -> None:
    later = []
    for entry in line:
        if entry["snapshot-id"] == first:
            break
        later.append(entry)
    else:
        raise reading_by_commits.gone(source, f"the snapshot {first}, which was read last,")
    for entry in reversed(later):
        operation = entry.get("summary", {}).get("operation", "append")
        if operation not in ADDS:
            raise reading_by_commits.overwritten(source, entry["snapshot-id"], operation)


FIXED_VERSION_OPTIONS = frozenset(
    {"snapshot-id", "as-of-timestamp", "tag", "versionasof", "timestampasof", "end-snapshot-id"}
)
"""Options of an input that select a fixed version."""


def head(spark: SparkSession, output: OutputPlan) -> Base | None:
    """The state of the table now; None if there is no table yet."""
    table = catalogs.find_table(spark, output.dataset)
    return LakeTable(spark, table).base(output.options.get("branch", MAIN)) if table is not None else None


def input_version(spark: SparkSession, source: InputPlan) -> str | None:
    """The snapshot that an input reads now; None if the input selects one itself, or if there is no table."""
    is_fixed = not FIXED_VERSION_OPTIONS.isdisjoint(source.options)
    table = None if is_fixed else catalogs.find_table(spark, source.dataset)
    if table is None:
        return None
    now = LakeTable(spark, table).head(source.options.get("branch", MAIN))
    return f"snapshot {now.snapshotId()}" if now is not None else "no snapshot"


def earlier(spark: SparkSession, write: Write, writer: Writer) -> EarlierWrite | None:
    """This write as an earlier attempt has sealed or committed it; None if no attempt got that far."""
    if write.output.mode == "maintain":
        return _in_ledger(write, writer)
    if write.output.mode in ("merge", "delete"):
        return _in_ledger(write, writer) or _record_late_commit(spark, write, writer)
    return _in_history(spark, write) if write.output.commit == "direct" else _in_ledger(write, writer)


def _record_late_commit(spark: SparkSession, write: Write, writer: Writer) -> EarlierWrite | None:
    """A row-level change whose engine died after the commit; the ledger records it now."""
    known, made = writer.ledger.find(write.id), _snapshot(spark, write)
    if known is not None and made is not None:
        own_commit.finish(writer.ledger, known.intent, made.committed())
    return _of_snapshot(made)


def _in_history(spark: SparkSession, write: Write) -> EarlierWrite | None:
    return _of_snapshot(_snapshot(spark, write))


def _snapshot(spark: SparkSession, write: Write) -> Snapshot | None:
    table = catalogs.find_table(spark, write.output.dataset)
    return snapshot_lookup.find_write(spark, table, write.id) if table is not None else None


def _of_snapshot(made: Snapshot | None) -> EarlierWrite | None:
    return EarlierWrite(made.written(), committed=True, inputs=made.inputs) if made else None


def _in_ledger(write: Write, writer: Writer) -> EarlierWrite | None:
    known = writer.earlier(write.id, write.output.dataset.address)
    return EarlierWrite(written(known), known.state == "committed", known.intent.inputs) if known else None
