"""States of tables: what an output begins from, what an input reads, what an earlier attempt at a write has left."""

from __future__ import annotations

from pyspark.sql import SparkSession

from catchment.commit import own_commit
from catchment.commit.model import Base
from catchment.commit.writer import Writer
from catchment.formats.iceberg import catalogs, snapshots
from catchment.formats.iceberg.table import MAIN, LakeTable
from catchment.formats.model import Earlier, Write, written
from catchment.plan.model import InputPlan, OutputPlan

AT_REST = frozenset({"snapshot-id", "as-of-timestamp", "tag", "versionasof", "timestampasof"})
"""Options of an input that always mean the same rows."""


def head(spark: SparkSession, output: OutputPlan) -> Base | None:
    """The state of the table now; None where there is no table yet."""
    table = catalogs.find_table(spark, output.dataset)
    return LakeTable(spark, table).base(output.options.get("branch", MAIN)) if table is not None else None


def reading_state(spark: SparkSession, source: InputPlan) -> str | None:
    """The snapshot that an input reads now; None where it names one itself, or where there is no table."""
    options = {key.lower(): value for key, value in source.options.items()}
    table = catalogs.find_table(spark, source.dataset) if AT_REST.isdisjoint(options) else None
    if table is None:
        return None
    now = LakeTable(spark, table).head(options.get("branch", MAIN))
    return f"snapshot {now.snapshotId()}" if now is not None else "no snapshot"


def earlier(spark: SparkSession, write: Write, writer: Writer) -> Earlier | None:
    """What an earlier attempt has left of this very write, if it got as far as its seal."""
    if write.output.mode == "maintain":
        return _in_ledger(write, writer)
    if write.output.mode in ("merge", "delete"):
        return _in_ledger(write, writer) or _told_late(spark, write, writer)
    return _in_history(spark, write) if write.output.commit == "direct" else _in_ledger(write, writer)


def _told_late(spark: SparkSession, write: Write, writer: Writer) -> Earlier | None:
    """A row-level change whose engine died after the commit, before it could tell the ledger: told now."""
    known, made = writer.ledger.find(write.id), _snapshot(spark, write)
    if known is not None and made is not None:
        own_commit.finish(writer.ledger, known.intent, made.committed())
    return _of_snapshot(made)


def _in_history(spark: SparkSession, write: Write) -> Earlier | None:
    return _of_snapshot(_snapshot(spark, write))


def _snapshot(spark: SparkSession, write: Write) -> snapshots.Snapshot | None:
    table = catalogs.find_table(spark, write.output.dataset)
    return snapshots.find_write(spark, table, write.id) if table is not None else None


def _of_snapshot(made: snapshots.Snapshot | None) -> Earlier | None:
    return Earlier(made.written(), committed=True, inputs=made.inputs) if made else None


def _in_ledger(write: Write, writer: Writer) -> Earlier | None:
    known = writer.earlier(write.id, write.output.dataset.address)
    return Earlier(written(known), known.state == "committed", known.intent.inputs) if known else None
