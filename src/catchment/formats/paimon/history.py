"""Reads the history of a Paimon table: rows added between snapshots, the current one, and earlier attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.writer import Writer
from catchment.errors import JobError
from catchment.formats import reading_by_commits
from catchment.formats.model import EarlierWrite, Facts, Write, written
from catchment.formats.paimon import time_travel
from catchment.formats.paimon.java import STREAM
from catchment.formats.paimon.read_options import TIME_TRAVEL
from catchment.formats.paimon.snapshot_files import CHANGE_ROWS, Snapshot
from catchment.formats.paimon.snapshots import read_back
from catchment.formats.paimon.table import NO_TABLE, Table, find_table, require_table
from catchment.formats.stamps import MODE, windows_in
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset, InputPlan, OutputPlan
from catchment.store.writes import Base

WHOLE_ROWS = (None, "deduplicate")
"""Merge engines whose new files hold rows as readers see them."""


def read(spark: SparkSession, source: InputPlan) -> DataFrame:
    """The rows of the table; options may name a snapshot, a time or a tag."""
    time_travel.check(source, require_table(spark, source.dataset))
    return spark.read.options(**source.options).table(source.dataset.identifier)


def read_stream(spark: SparkSession, source: InputPlan) -> DataFrame:
    """The rows of the table now, and then those that are added, snapshot by snapshot."""
    table = require_table(spark, source.dataset)
    _check_engine(source, table)
    jvm, marks = Jvm.of(spark), (MODE, list(CHANGE_ROWS))
    stream = jvm(STREAM)(spark._jsparkSession, source.dataset.identifier, table.java, dict(source.options), *marks)
    return DataFrame(jvm(STREAM).rows(stream), spark)


def span(spark: SparkSession, source: InputPlan, known: str | None) -> tuple[str | None, str] | None:
    """The snapshot that was read last, and the newest one; None if the table has none."""
    table = require_table(spark, source.dataset)
    _check_engine(source, table)
    newest = table.newest()
    if newest is None:
        return None
    if known is None:
        first = _at(source, table, newest, reading_by_commits.since(source))
        known = first.name if first else None
    if known is not None:
        _check(source, table, known, newest)
    return known, newest.name


def read_commits(spark: SparkSession, source: InputPlan, first: str | None, last: str) -> DataFrame:
    """The rows that were added after one snapshot, up to another."""
    table = require_table(spark, source.dataset)
    # The window may be old: check that the snapshots it was opened for still exist.
    newest = _find(table, last)
    if newest is None:
        raise reading_by_commits.gone(source, f"snapshot {_number(last)}, the end of an open window,")
    if first is not None:
        _check(source, table, first, newest)
    between = (
        {"incremental-between": f"{_number(first)},{newest.id}"} if first else {"scan.snapshot-id": str(newest.id)}
    )
    return spark.read.options(**source.options, **between).table(source.dataset.identifier)


def commits_after(spark: SparkSession, source: InputPlan, offset: Mapping[str, Any]) -> int | None:
    """The number of snapshots after the one that a stream has reached; None if the table does not have that one."""
    table = require_table(spark, source.dataset)
    newest, reached = table.newest(), f"{offset.get('snapshot')}@{offset.get('manifests')}"
    return newest.id - _number(reached) if newest and "snapshot" in offset and _find(table, reached) else None


def _number(name: str) -> int:
    """The number in a stored snapshot, which is followed by its identity unless a user set the state."""
    return int(name.partition("@")[0])


def _find(table: Table, name: str) -> Snapshot | None:
    number, _, identity = name.partition("@")
    found = read_back(table.spark, table.java, int(number), int(number) - 1, 2**62)
    return found[0] if found and identity in ("", found[0].manifests) else None


def _at(source: InputPlan, table: Table, newest: Snapshot, moment: datetime | None) -> Snapshot | None:
    """The snapshot that was current at a moment; None if the table had none yet."""
    if moment is None:
        return None
    oldest = newest.id
    for snapshot in read_back(table.spark, table.java, newest.id):
        if snapshot.millis <= moment.timestamp() * 1000:
            return snapshot
        oldest = snapshot.id
    if oldest > 1:
        raise reading_by_commits.gone(source, f"the snapshot that was current at {moment.isoformat()}")
    return None


def _check(source: InputPlan, table: Table, first: str, newest: Snapshot) -> None:
    """Raise unless all snapshots after one, up to another, exist and only add rows."""
    if _find(table, first) is None:
        raise reading_by_commits.gone(source, f"snapshot {_number(first)}, which was read last,")
    for snapshot in reversed(read_back(table.spark, table.java, newest.id, _number(first), 2**62)):
        if snapshot.changes_rows:
            raise reading_by_commits.overwritten(source, snapshot.id, snapshot.operation)


def _check_engine(source: InputPlan, table: Table) -> None:
    if table.merge_engine not in WHOLE_ROWS:
        raise JobError(
            f"input {source.name}: new files of {source.dataset.address} hold parts of rows ({table.merge_engine})",
            code="source-merges-rows",
            where=source.commits.where if source.commits else source.where,
            hint="read the whole table, or select changed rows by a column",
        )


def windows_since(spark: SparkSession, dataset: Dataset, since: float) -> Iterator[Facts]:
    """The windows of incremental jobs in the snapshots since a time, the newest first."""
    table = find_table(spark, dataset)
    newest = table.newest() if table else None
    if table is None or newest is None:
        return
    for snapshot in read_back(spark, table.java, newest.id, newest.id, int(since * 1000)):
        yield from reversed(windows_in(snapshot.stamp))


def head(spark: SparkSession, output: OutputPlan) -> Base | None:
    """The state of the table now; None if later commits are no conflict."""
    if output.mode == "append" or output.conflict == "last-wins":
        return None
    table = find_table(spark, output.dataset)
    return table.base() if table else NO_TABLE


def input_version(spark: SparkSession, source: InputPlan) -> str | None:
    """The snapshot that an input reads now; None if the input selects one itself."""
    if not TIME_TRAVEL.isdisjoint(source.options):
        return None
    table = find_table(spark, source.dataset)
    newest = table.newest() if table else None
    return f"snapshot {newest.name}" if newest else "no snapshot"


def earlier(write: Write, writer: Writer) -> EarlierWrite | None:
    """This write as an earlier attempt has sealed or committed it; None if no attempt got that far."""
    known = writer.earlier(write.id, write.output.dataset.address)
    return EarlierWrite(written(known), known.state == "committed", known.intent.inputs) if known else None
