"""Writes rows to an Iceberg table: creates it if needed, checks the rows, commits and reports the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.errors import CatchmentError
from catchment.formats.frames import sorted_rows
from catchment.formats.iceberg import catalogs, partitions, snapshot_lookup
from catchment.formats.iceberg.buffered import seal
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.changes.refs import ensure_branch
from catchment.formats.iceberg.fitting import fit, iceberg_schema
from catchment.formats.iceberg.new_tables import dropped_on_failure
from catchment.formats.iceberg.partitions import ORDERING_OPTION, without_fanout
from catchment.formats.iceberg.reserved_columns import check_names
from catchment.formats.iceberg.row_changes import merge
from catchment.formats.iceberg.single_commit import commit_rows
from catchment.formats.iceberg.snapshots import Snapshot
from catchment.formats.iceberg.table import LakeTable
from catchment.formats.model import Write, Written, written
from catchment.formats.stamps import stamp
from catchment.formats.unused_tables import TableVanished
from catchment.jvm.causes import causes

Done = TypeVar("Done")

# By default Iceberg gives up after four retries; under contention a quarter of the writes then fail.
RETRIES = {
    "commit.retry.num-retries": "100",
    "commit.retry.min-wait-ms": "50",
    "commit.retry.max-wait-ms": "2000",
    "commit.retry.total-timeout-ms": "1800000",
}
SNAPSHOT_PROPERTY = "snapshot-property."
MAX_CHANGES = 20
"""How often others may change the schema or the partitioning during one write."""


def commit(spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
    """Commit the rows, unless this write is committed already."""
    dataset = write.output.dataset
    check_names(frame.columns, dataset.address)
    with writer.admission(dataset, write.id):
        for _ in range(MAX_CHANGES - 1):
            with suppress(TableVanished):
                return _commit_or_create(spark, frame, write, writer, listener)
        return _commit_or_create(spark, frame, write, writer, listener)


def _commit_or_create(
    spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener
) -> Written:
    """Commit to the table, which is created if it is missing, and dropped again if the write fails."""
    # Use the engine's session, whose catalogs stay open: the publisher may use the table after this job.
    engine, dataset = writer.session, write.output.dataset
    if (table := catalogs.await_table(engine, dataset, listener)) is not None:
        return _commit_to(spark, frame, write, table, writer, listener)
    table, is_mine = _create(engine, frame, write)
    with dropped_on_failure(writer, table, dataset, listener) if is_mine else nullcontext():
        return _commit_to(spark, frame, write, table, writer, listener)


def _commit_to(
    spark: SparkSession, frame: DataFrame, write: Write, table: Table, writer: Writer, listener: Listener
) -> Written:
    if write.output.partitions:
        partitions.check_spec(partitions.table_fields(spark, table), write)
    ensure_branch(table, write.output.dataset.address, catalogs.branch_of(write.output), listener)
    if write.output.properties:
        _warn_of_properties(LakeTable(spark, table).state().properties, write, listener)
    if write.output.merge is not None:
        return merge(spark, frame, write, write.output.merge, table, writer, listener)
    way = _directly if write.output.commit == "direct" else _through_buffer
    return way(spark, frame, write, table, writer, listener)


def _through_buffer(
    spark: SparkSession, frame: DataFrame, write: Write, table: Table, writer: Writer, listener: Listener
) -> Written:
    options, known = _options(spark, write, table), LakeTable(writer.session, table)
    options.pop("branch", None)
    sealed = _fitted(spark, frame, write, table, lambda rows: seal(writer, rows, known, write, options, listener))
    done = sealed.publish(write.id, listener.warn)
    if done.contents is None or (done.contents.files == 0 and write.output.mode == "overwrite-partitions"):
        listener.warn(f"output {write.output.name} has no rows: no partition is replaced")
    return written(done)


def _directly(
    spark: SparkSession, frame: DataFrame, write: Write, table: Table, writer: Writer, listener: Listener
) -> Written:
    """Commit at once, in one snapshot."""
    # An earlier attempt may have died after its commit: its rows must not be written twice.
    table.refresh()
    if done := snapshot_lookup.find_write(spark, table, write.id):
        listener.warn(
            f"output {write.output.name} was already committed in snapshot {done.id}; nothing is written again"
        )
        return done.written()
    made = _fitted(spark, frame, write, table, lambda rows: _put(spark, rows, write, table, listener))
    return made.written() if made else Written(rows=0, files=0)


def _put(spark: SparkSession, rows: DataFrame, write: Write, table: Table, listener: Listener) -> Snapshot | None:
    options = _options(spark, write, table)
    options.pop("branch", None)
    mine = {key[len(SNAPSHOT_PROPERTY) :]: value for key, value in options.items() if key.startswith(SNAPSHOT_PROPERTY)}
    stamps = {**mine, **stamp(write)}
    return commit_rows(spark, LakeTable(spark, table), rows, write, write.output.mode, stamps, listener, options)


def _create(spark: SparkSession, frame: DataFrame, write: Write) -> tuple[Table, bool]:
    schema = iceberg_schema(spark, frame, write)
    spec = partitions.build_spec(spark, schema, frame, write)
    return catalogs.create_table(spark, write.output.dataset, schema, spec, _properties(write))


def _properties(write: Write) -> dict[str, str]:
    output = write.output
    said = {"comment": output.comment, "catchment.tags": ",".join(output.tags)}
    return {**RETRIES, **{key: value for key, value in said.items() if value}, **output.properties}


def _warn_of_properties(properties: Mapping[str, str], write: Write, listener: Listener) -> None:
    for key, value in write.output.properties.items():
        actual = properties.get(key)
        if actual != value:
            listener.warn(f"{write.output.dataset.address} exists and keeps {key}={actual}; the workflow has {value}")


def _fitted(
    spark: SparkSession, frame: DataFrame, write: Write, table: Table, put: Callable[[DataFrame], Done]
) -> Done:
    """Write the rows; start again if another job changes the table's schema or partitioning meanwhile."""
    for _ in range(MAX_CHANGES - 1):
        spec = table.spec().specId()
        try:
            return put(_ready(spark, frame, write, table))
        except CatchmentError:
            raise  # the reason is known
        except Exception as error:
            if not (write.output.merge_schema or write.output.sort):
                raise
            table.refresh()
            if not (_schema_has_moved(error, write) or _spec_has_moved(spec, write, table)):
                raise
    return put(_ready(spark, frame, write, table))


def _ready(spark: SparkSession, frame: DataFrame, write: Write, table: Table) -> DataFrame:
    fitted = fit(spark, frame, write, table)
    if write.output.sort is None:
        return fitted
    functions = partitions.functions_of(write.output.dataset.depot)
    clustering = partitions.clustering(partitions.table_fields(spark, table), functions)
    return sorted_rows(fitted, write, clustering)


def _schema_has_moved(error: Exception, write: Write) -> bool:
    conditions = (cause.condition or "" for cause in causes(error))
    incompatible = any(condition.startswith("INCOMPATIBLE_DATA_FOR_TABLE") for condition in conditions)
    return write.output.merge_schema and incompatible


def _spec_has_moved(before: int, write: Write, table: Table) -> bool:
    """Whether the rows were sorted for an old partition spec, so that a writer without fanout refuses them."""
    return write.output.sort is not None and table.spec().specId() != before


def _options(spark: SparkSession, write: Write, table: Table) -> dict[str, str]:
    options, properties = dict(write.output.options), LakeTable(spark, table).state().properties
    if write.output.compression:
        options["compression-codec"] = write.output.compression
    if write.output.sort:
        # The rows are sorted already; the table's own distribution would shuffle them again.
        options[ORDERING_OPTION] = "false"
    clustered, sortable = write.output.sort is not None, partitions.sortable(partitions.table_fields(spark, table))
    return without_fanout(options, properties, clustered=clustered, sortable=sortable)
