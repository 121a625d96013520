"""New Delta tables."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.errors import JobError
from catchment.formats.delta.catalog import make_collection, name_of
from catchment.formats.delta.log import Head
from catchment.formats.model import Write
from catchment.formats.schema_fit import columns_without_type, not_storable
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset


def create(spark: SparkSession, frame: DataFrame, write: Write) -> None:
    """Make the table of an output, unless somebody else has made it in the meantime."""
    output = write.output
    check_types(frame, write)
    jvm, builder = Jvm.of(spark), _builder(spark, output.dataset)
    columns = partition_columns(frame, write)
    named = spark.sparkContext._gateway.new_array(jvm("java.lang.String"), len(columns))
    for index, column in enumerate(columns):
        named[index] = column
    # Nullable, as Spark itself creates tables: that a query happens to yield no null is no promise for the next one.
    builder = builder.addColumns(frame._jdf.schema().asNullable()).partitionedBy(named)
    for key, value in _properties(write).items():
        builder = builder.property(key, value)
    (builder.comment(output.comment) if output.comment else builder).execute()


def give_name(spark: SparkSession, dataset: Dataset) -> None:
    """Let the catalog know a table that is there already."""
    _builder(spark, dataset).execute()


def check_types(frame: DataFrame, write: Write) -> None:
    """Refuse rows with a column that has no type."""
    if untyped := columns_without_type(frame.schema):
        raise not_storable(write, "Delta", f"a bare NULL ({', '.join(untyped)})")


def partition_columns(frame: DataFrame, write: Write) -> list[str]:
    """The columns that partition the output, spelled as in the data."""
    spelled = {name.lower(): name for name in frame.columns}
    for field in write.output.partitions:
        if field.transform != "identity":
            raise JobError(
                f"output {write.output.name}: Delta tables cannot be partitioned by {field.transform}",
                code="partition-invalid",
                where=field.where,
                hint="compute the value as a column in a step and partition by that column",
            )
        if field.column.lower() not in spelled:
            raise JobError(
                f"output {write.output.name} is partitioned by {field.column}, which its rows do not have",
                code="column-not-found",
                where=field.where,
                hint=f"the columns are {', '.join(frame.columns)}",
            )
    return [spelled[field.column.lower()] for field in write.output.partitions]


def check_partitions(frame: DataFrame, write: Write, head: Head) -> None:
    """Refuse to write into a table that is partitioned otherwise than declared; no declaration fits every table."""
    declared = partition_columns(frame, write)
    if declared and [name.lower() for name in declared] != [name.lower() for name in head.partitions]:
        raise JobError(
            f"output {write.output.name}: {write.output.dataset.address} is partitioned by "
            f"{', '.join(head.partitions) or 'nothing'}, and the workflow says {', '.join(declared)}",
            code="partition-spec-differs",
            where=write.output.where,
            hint="declare the table's own partitioning, or declare none",
        )


def _builder(spark: SparkSession, dataset: Dataset) -> Any:
    builder = Jvm.of(spark)("io.delta.tables.DeltaTable").createIfNotExists(spark._jsparkSession)
    if dataset.named:
        make_collection(spark, dataset)
        builder = builder.tableName(name_of(dataset))
    return builder.location(dataset.path)


def _properties(write: Write) -> dict[str, str]:
    tags = {"catchment.tags": ",".join(write.output.tags)} if write.output.tags else {}
    return {**tags, **write.output.properties}
