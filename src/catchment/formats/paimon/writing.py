"""Writes rows to a Paimon table: creates it if needed, checks the rows, seals and publishes them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import CommitConflict, JobError
from catchment.formats.backoff import MAX_ATTEMPTS, attempts
from catchment.formats.frames import sorted_rows
from catchment.formats.model import Write, Written, written
from catchment.formats.paimon import row_changes, sealed_messages
from catchment.formats.paimon.buffered import admitted, put
from catchment.formats.paimon.fitting import fit, grow, grows
from catchment.formats.paimon.new_tables import check_declared, create, dropped_on_failure
from catchment.formats.paimon.snapshot_files import CHANGE_ROWS
from catchment.formats.paimon.table import CROSS_PARTITION, Table, find_table, require_table
from catchment.formats.paimon.traits import check_overwrite
from catchment.formats.row_statements import create_rows_view, delete_statement, merge_statement
from catchment.formats.unused_tables import TableVanished, creation_lease
from catchment.plan.model import Clause, Merge
from catchment.store.writes import Contents, Entry

TRIED_AGAIN = frozenset({"schema-changed", "buckets-changed", CommitConflict.code, TableVanished.code})
"""Conflicts after which the same rows are written again, to the table as it is by then."""


def commit(spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
    """Commit the rows, unless this write is committed already."""
    done = _patiently(lambda: _commit(spark, frame, write, writer, listener), write, listener)
    if write.output.mode == "overwrite-partitions" and not (done.contents and done.contents.files):
        listener.warn(f"output {write.output.name} has no rows: no partition is replaced")
    return written(done)


def delete_rows(spark: SparkSession, condition: Clause, write: Write, writer: Writer, listener: Listener) -> Written:
    """Delete rows, unless this write is committed already."""
    statement = delete_statement(condition, write.output.dataset.identifier)

    def delete() -> Entry:
        table = require_table(spark, write.output.dataset)
        row_changes.check(table, write)
        return _put(table, lambda: row_changes.fill(table, statement, write), write, writer, listener)

    return written(_patiently(delete, write, listener))


def _patiently(commit: Callable[[], Entry], write: Write, listener: Listener) -> Entry:
    """Commit, and again after each conflict that allows it."""
    for number in attempts():
        try:
            return commit()
        except (CommitConflict, TableVanished) as conflict:
            if number == MAX_ATTEMPTS or conflict.code not in TRIED_AGAIN:
                raise
            listener.check()
            listener.warn(f"{write.id}: others changed {write.output.dataset.address} meanwhile; trying again")
    raise AssertionError("the last attempt returns or raises")


def _commit(spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Entry:
    table, is_new = _table(spark, frame, write, writer, listener)
    with dropped_on_failure(table, write, writer, listener) if is_new else nullcontext():
        _check_overwrite(table, write)
        _warn(table, write, listener)
        if write.output.merge is not None:
            return _merge(table, frame, write.output.merge, write, writer, listener)
        return _put(table, lambda: _fill(table, frame, write), write, writer, listener)


def _fill(table: Table, frame: DataFrame, write: Write) -> Contents:
    partitions = [F.col(f"`{name}`") for name in table.partitions]
    return sealed_messages.fill(table, sorted_rows(fit(frame, table), write, partitions))


def _merge(table: Table, frame: DataFrame, clauses: Merge, write: Write, writer: Writer, listener: Listener) -> Entry:
    row_changes.check(table, write)
    statement = merge_statement(clauses, write.output.dataset.identifier, row_changes.ROWS)
    # Rows may have columns that the table lacks, since clauses select columns; only mergeSchema needs a fit.
    create_rows_view(fit(frame, table) if write.output.merge_schema else frame, row_changes.ROWS)
    try:
        return _put(table, lambda: row_changes.fill(table, statement, write), write, writer, listener)
    finally:
        table.spark.catalog.dropTempView(row_changes.ROWS)


def _put(table: Table, fill: Callable[[], Contents], write: Write, writer: Writer, listener: Listener) -> Entry:
    in_turn = table.takes_turns or write.output.mode in CHANGE_ROWS
    with _turn(table, writer, listener) if in_turn else nullcontext():
        publisher = admitted(writer, write.output.dataset, table, listener)
        if in_turn:
            publisher.consolidate(listener.warn)  # sealed writes are not visible yet, and would come first
        return put(publisher, table, fill, write, writer, listener)


def _turn(table: Table, writer: Writer, listener: Listener) -> AbstractContextManager[None]:
    """The lease for computing a write from the rows of the table."""
    return table_lease(writer.store, table.location, writer.owner, listener, spark_progress(writer.session), "rows")


def _table(
    spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener
) -> tuple[Table, bool]:
    """The table, with all columns that the rows need, and whether it was created just now."""
    dataset, is_new = write.output.dataset, False
    table = find_table(spark, dataset)
    if table is None:
        # Under a lease: on a local disk, two processes that create a table replace each other's schema.
        with creation_lease(writer, dataset, listener):
            table = find_table(spark, dataset)
            table, is_new = (table, False) if table else (create(spark, frame, write), True)
    check_declared(frame, write, table)
    selects = write.output.merge is not None and not write.output.merge_schema
    if not selects and grows(frame, write, table):
        with creation_lease(writer, dataset, listener):
            table = require_table(spark, dataset)
            table = grow(spark, frame, write) if grows(frame, write, table) else table
    return table, is_new


def _check_overwrite(table: Table, write: Write) -> None:
    problems = check_overwrite(write.output.mode, table.merge_engine) if table.bucket_mode == CROSS_PARTITION else ()
    for code, message, hint in problems:
        raise JobError(f"{write.output.dataset.address}: {message}", code=code, where=write.output.where, hint=hint)


def _warn(table: Table, write: Write, listener: Listener) -> None:
    address = write.output.dataset.address
    for key, value in write.output.properties.items():
        if (actual := table.options.get(key)) != value:
            listener.warn(f"{address} exists and keeps {key}={actual}; the workflow has {value}")
    if table.hides_new_rows:
        listener.warn(f"{address}: readers see the rows after the next compaction (`catchment table compact`)")
