"""Creates Paimon tables, and checks what a workflow declares about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.errors import JobError
from catchment.formats import unused_tables
from catchment.formats.failures import from_spark
from catchment.formats.model import Write
from catchment.formats.paimon.catalogs import ensure_database, identifier, open_catalog
from catchment.formats.paimon.java import commits
from catchment.formats.paimon.table import Table, find_table, require_table
from catchment.formats.paimon.traits import AGGREGATION, DEFAULT_FUNCTION, FUNCTION, MERGE_ENGINE
from catchment.formats.schema_fit import columns_without_type, not_storable
from catchment.formats.unused_tables import creation_lease
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset, KeyColumn, OutputPlan, PartitionField

DEFAULTS = {"write-only": "true"}
"""Writers that also compact a partition would conflict with each other, so only maintenance compacts."""


def is_there(table: Table, dataset: Dataset) -> bool:
    """Whether this is still the table of a dataset."""
    now = find_table(table.spark, dataset)
    return now is not None and now.id == table.id


def dropped_on_failure(table: Table, write: Write, writer: Writer, listener: Listener) -> AbstractContextManager[None]:
    """Drop a table that was just created if its first write fails, unless others have used it."""

    def drop(failure: Exception) -> None:
        writer.close_failed(write.id, from_spark(failure, otherwise="write-failed"))
        _drop_if_unused(table, write.output.dataset, writer, listener)

    return unused_tables.dropped_on_failure(write.output.dataset, listener, drop)


def _drop_if_unused(table: Table, dataset: Dataset, writer: Writer, listener: Listener) -> None:
    with creation_lease(writer, dataset, listener):
        if not is_there(table, dataset) or writer.ledger.is_used(dataset.target, table.id):
            return
        # Paimon removes a table with all of its files, so there must be none that another write may commit.
        if commits(table.spark).isBlank(table.java):
            open_catalog(table.spark, dataset.depot).dropTable(identifier(table.spark, dataset), True)  # noqa: FBT003
            writer.forget(dataset.target)


def create(spark: SparkSession, frame: DataFrame, write: Write) -> Table:
    """Create the table of an output; the caller holds the creation lease."""
    output, dataset = write.output, write.output.dataset
    if untyped := columns_without_type(frame.schema):
        raise not_storable(write, "Paimon", f"a bare NULL ({', '.join(untyped)})")
    keys, partitions = _columns(frame, write, output.primary_key), _columns(frame, write, output.partitions)
    values = [name for name in frame.columns if name not in (*keys, *partitions)]
    check_functions(output, output.properties, values)
    jvm, catalog = Jvm.of(spark), open_catalog(spark, dataset.depot)
    # All columns are nullable, as in tables that Spark creates; Paimon itself makes those of the key required.
    rows = jvm("org.apache.paimon.spark.SparkTypeUtils").toPaimonType(frame._jdf.schema().asNullable())
    schema = jvm("org.apache.paimon.schema.Schema")(
        rows.getFields(), list(partitions), list(keys), _options(output), output.comment or ""
    )
    ensure_database(catalog, dataset.namespace)
    commits(spark).sweep(catalog, dataset.namespace, dataset.table)
    catalog.createTable(identifier(spark, dataset), schema, True)  # noqa: FBT003
    return require_table(spark, dataset)


def check_declared(frame: DataFrame, write: Write, table: Table) -> None:
    """Raise if the table's key or partitions differ from those declared; without a declaration every table fits."""
    output = write.output
    if (said := _other(_columns(frame, write, output.partitions), table.partitions)) is not None:
        raise JobError(
            f"output {output.name}: {output.dataset.address} is partitioned by {said}",
            code="partition-spec-differs",
            where=output.partitions[0].where,
            hint="declare the table's own partitioning, or declare none",
        )
    if (said := _other(_columns(frame, write, output.primary_key), table.keys)) is not None:
        raise JobError(
            f"output {output.name}: {output.dataset.address} has the primary key {said}",
            code="primary-key-differs",
            where=output.primary_key[0].where,
            hint="declare the table's own key, or declare none",
        )


def _other(declared: Sequence[str], actual: Sequence[str]) -> str | None:
    """How a declaration differs from what the table has; None if it does not, or if nothing is declared."""
    if not declared or {name.lower() for name in declared} == {name.lower() for name in actual}:
        return None
    return f"{', '.join(actual) or 'nothing'}, and the workflow says {', '.join(declared)}"


def _columns(frame: DataFrame, write: Write, declared: Sequence[KeyColumn | PartitionField]) -> list[str]:
    """The declared columns, spelled as in the rows."""
    spelled = {name.lower(): name for name in frame.columns}
    if missing := next((field for field in declared if field.column.lower() not in spelled), None):
        raise JobError(
            f"output {write.output.name} names the column {missing.column}, which its rows do not have",
            code="column-not-found",
            where=missing.where,
            hint=f"the columns are {', '.join(frame.columns)}",
        )
    return [spelled[field.column.lower()] for field in declared]


def check_functions(output: OutputPlan, options: Mapping[str, str], values: Sequence[str]) -> None:
    """Raise if rows are aggregated and one of these columns has no function: Paimon would keep the last value."""
    if options.get(MERGE_ENGINE) != AGGREGATION or DEFAULT_FUNCTION in options:
        return
    sequence = options.get("sequence.field", "").split(",")
    if lacking := [name for name in values if FUNCTION.format(name) not in options and name not in sequence]:
        raise JobError(
            f"output {output.name} aggregates rows of one key, and {', '.join(lacking)} has no function",
            code="aggregation-without-function",
            where=output.where,
            hint=f"add {FUNCTION.format(lacking[0])}: sum to the properties (or max, min, last_value, …), "
            f"or {DEFAULT_FUNCTION} for all columns",
        )


def _options(output: OutputPlan) -> dict[str, str]:
    compression = {"file.compression": output.compression} if output.compression else {}
    tags = {"catchment.tags": ",".join(output.tags)} if output.tags else {}
    return {**DEFAULTS, **compression, **tags, **output.properties}
