"""Creates Delta tables, and checks rows against them before data is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import AtomicType, DataType, StructType

from catchment.errors import JobError
from catchment.formats.delta.catalog import make_collection, name_of
from catchment.formats.delta.log import Head
from catchment.formats.model import Write
from catchment.formats.schema_fit import (
    Difference,
    check,
    columns_without_type,
    differences,
    fits,
    missing_columns,
    not_storable,
)
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset


def create(spark: SparkSession, frame: DataFrame, write: Write) -> None:
    """Create the table of an output, unless it was created in the meantime."""
    output = write.output
    check_types(frame, write)
    jvm, builder = Jvm.of(spark), _builder(spark, output.dataset)
    columns = partition_columns(frame, write)
    named = spark.sparkContext._gateway.new_array(jvm("java.lang.String"), len(columns))
    for index, column in enumerate(columns):
        named[index] = column
    # All columns are nullable, as in tables that Spark creates: one query without nulls is no promise for the next.
    builder = builder.addColumns(frame._jdf.schema().asNullable()).partitionedBy(named)
    for key, value in _properties(write).items():
        builder = builder.property(key, value)
    (builder.comment(output.comment) if output.comment else builder).execute()


def give_name(spark: SparkSession, dataset: Dataset) -> None:
    """Register an existing table in the catalog."""
    _builder(spark, dataset).execute()


def check_types(frame: DataFrame, write: Write) -> None:
    """Raise if a column has no type."""
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
    """Raise if the table is partitioned differently than declared; without a declaration every table fits."""
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


TYPE_WIDENING = "delta.enableTypeWidening"
"""The table property that allows columns to get a wider type."""


def fit(frame: DataFrame, write: Write, head: Head) -> DataFrame:
    """The rows with all columns of the table; raises if they cannot be written to it."""
    found = [_possible(difference, head) for difference in differences(frame.schema, head.schema)]
    check(write, found)
    if any(difference.grows for difference in found):
        check_types(frame, write)
    empty = {field.name: F.lit(None).cast(field.dataType) for field in missing_columns(frame.schema, head.schema)}
    widened = {name: F.col(f"`{name}`").cast(kind) for name, kind in _narrower(frame.schema, head.schema)}
    return frame.withColumns({**empty, **widened}) if empty or widened else frame


def _possible(difference: Difference, head: Head) -> Difference:
    widens = head.properties.get(TYPE_WIDENING, "false").lower() == "true"
    return difference if widens or not difference.widens else replace(difference, mergeable=False)


def _narrower(rows: StructType, table: StructType) -> Iterator[tuple[str, DataType]]:
    """Columns whose type is narrower than the table's: Delta accepts only its own type."""
    own = {field.name.lower(): field.dataType for field in table.fields}
    for field in rows.fields:
        kind = own.get(field.name.lower(), field.dataType)
        # Structs are cast by position, not by name, so they stay as they are: Delta refuses those that do not fit.
        if kind != field.dataType and isinstance(kind, AtomicType) and fits(field.dataType, kind):
            yield field.name, kind
