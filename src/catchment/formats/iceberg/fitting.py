"""Rows and table brought together: checked before data moves, the table grown where that is asked for."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructType

from catchment.engine.failures import from_spark
from catchment.engine.jvm import is_a
from catchment.errors import JobError
from catchment.formats.iceberg.catalogs import EXCEPTIONS, Table
from catchment.formats.iceberg.differences import Difference, differences, missing_columns
from catchment.formats.model import Write

MOST_RACES = 100


def fit(spark: SparkSession, frame: DataFrame, write: Write, table: Table) -> DataFrame:
    """The rows with every column that the table has; raises where they cannot be written into it."""
    found = _checked(spark, frame, write, table)
    for _ in range(MOST_RACES):
        if not any(difference.grows for difference in found) or _grow(spark, frame, write, table):
            break
        table.refresh()
        found = _checked(spark, frame, write, table)
    empty = missing_columns(frame.schema, _spark_schema(spark, table))
    return frame.withColumns({field.name: F.lit(None).cast(field.dataType) for field in empty}) if empty else frame


def iceberg_schema(spark: SparkSession, frame: DataFrame, write: Write) -> Any:
    """The schema of a table made for these rows."""
    if untyped := [field.name for field in frame.schema.fields if _has_no_type(field.dataType)]:
        raise _not_storable(write, f"a bare NULL ({', '.join(untyped)})")
    # Nullable, as Spark itself creates tables: that a query happens to yield no null is no promise for the next one.
    kind = frame._jdf.schema().asNullable()
    try:
        return spark._jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(kind)
    except Exception as error:
        raise _not_storable(write, from_spark(error).message) from error


def _not_storable(write: Write, what: str) -> JobError:
    return JobError(
        f"output {write.output.name} has a column that Iceberg cannot store: {what}",
        code="type-not-storable",
        where=write.output.where,
        hint="cast it in the last step; a NULL needs a type, as in CAST(NULL AS STRING)",
    )


def _has_no_type(kind: DataType) -> bool:
    match kind:
        case StructType():
            return any(_has_no_type(field.dataType) for field in kind.fields)
        case ArrayType():
            return _has_no_type(kind.elementType)
        case MapType():
            return _has_no_type(kind.keyType) or _has_no_type(kind.valueType)
        case _:
            return isinstance(kind, NullType)


def _checked(spark: SparkSession, frame: DataFrame, write: Write, table: Table) -> list[Difference]:
    found = differences(frame.schema, _spark_schema(spark, table))
    refused = [difference for difference in found if not (write.output.merge_schema and difference.mergeable)]
    if refused:
        merge = "; `mergeSchema: true` would let the table grow" if all(each.mergeable for each in refused) else ""
        raise JobError(
            f"the rows do not fit {write.output.dataset.address}: {'; '.join(each.text for each in refused)}",
            code="schema-mismatch",
            where=write.output.where,
            hint=f"select or cast the columns in the last step{merge}",
        )
    return found


def _grow(spark: SparkSession, frame: DataFrame, write: Write, table: Table) -> bool:
    """Add the columns that the table lacks; False where another job changed the table first."""
    change = table.updateSchema().caseSensitive(False).unionByNameWith(iceberg_schema(spark, frame, write))  # noqa: FBT003
    try:
        change.commit()
    except Exception as error:
        if not is_a(error, f"{EXCEPTIONS}CommitFailedException"):
            raise
        return False
    return True


def _spark_schema(spark: SparkSession, table: Table) -> StructType:
    kind = spark._jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(table.schema())
    return StructType.fromJson(json.loads(kind.json()))
