"""Writes rows to a Paimon table: creates it if needed, checks the rows, and lets them be published."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.commit.leases import Right, table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import CommitConflict
from catchment.formats.backoff import MAX_ATTEMPTS, attempts
from catchment.formats.frames import sorted_rows
from catchment.formats.model import Write, Written, written
from catchment.formats.paimon.buffered import admitted, put
from catchment.formats.paimon.fitting import fit, grow, grows
from catchment.formats.paimon.new_tables import check_declared, create
from catchment.formats.paimon.table import Table, find_table, require_table
from catchment.store.writes import Entry

FITTED_ANEW = frozenset({"schema-changed", "buckets-changed"})
"""Conflicts after which the same rows are written once more, to the table as it is by then."""


def commit(spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
    """Commit the rows, unless this write is committed already."""
    for number in attempts():
        table = _table(spark, frame, write, writer, listener)
        try:
            done = _put(table, frame, write, writer, listener)
        except CommitConflict as conflict:
            if number == MAX_ATTEMPTS or conflict.code not in FITTED_ANEW:
                raise
            listener.check()
            listener.warn(f"{write.id}: others changed {write.output.dataset.address} meanwhile; trying again")
            continue
        if write.output.mode == "overwrite-partitions" and not (done.contents and done.contents.files):
            listener.warn(f"output {write.output.name} has no rows: no partition is replaced")
        return written(done)
    raise AssertionError("the last attempt returns or raises")


def _put(table: Table, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Entry:
    _warn(table, write, listener)
    with _turn(table, writer, listener):
        publisher = admitted(writer, write.output.dataset, table, listener)
        if table.takes_turns:
            publisher.consolidate(listener.warn)  # the keys of sealed writes have their buckets already
        partitions = [F.col(f"`{name}`") for name in table.partitions]
        rows = sorted_rows(fit(frame, table), write, partitions)
        return put(publisher, table, rows, write, writer, listener)


def _turn(table: Table, writer: Writer, listener: Listener) -> AbstractContextManager[None]:
    """The right to write, where only one write at a time can be computed."""
    if not table.takes_turns:
        return nullcontext()
    return _lease(table.location, writer, listener, "rows")


def _table(spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Table:
    """The table, with all columns that the rows need; it is created if it is missing."""
    dataset = write.output.dataset
    table = find_table(spark, dataset)
    if table is None:
        # Under a lease: on a local disk, two processes that create a table replace each other's schema.
        with _lease(dataset.target, writer, listener, "creation"):
            table = find_table(spark, dataset) or create(spark, frame, write)
    check_declared(frame, write, table)
    if grows(frame, write, table):
        with _lease(dataset.target, writer, listener, "creation"):
            table = require_table(spark, dataset)
            table = grow(spark, frame, write) if grows(frame, write, table) else table
    return table


def _lease(name: str, writer: Writer, listener: Listener, right: Right) -> AbstractContextManager[None]:
    return table_lease(writer.store, name, writer.owner, listener, spark_progress(writer.session), right)


def _warn(table: Table, write: Write, listener: Listener) -> None:
    address = write.output.dataset.address
    for key, value in write.output.properties.items():
        if (actual := table.options.get(key)) != value:
            listener.warn(f"{address} exists and keeps {key}={actual}; the workflow has {value}")
    if table.hides_new_rows:
        listener.warn(f"{address}: readers see the rows after the next compaction (`catchment table compact`)")
