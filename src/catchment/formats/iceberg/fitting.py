"""Checks rows against a table's schema before data is written, and adds columns if the output allows it."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from catchment.formats.failures import from_spark
from catchment.formats.iceberg.catalogs import EXCEPTIONS, Table
from catchment.formats.iceberg.java import Jvm, tables
from catchment.formats.model import Write
from catchment.formats.schema_fit import (
    check,
    columns_without_type,
    differences,
    missing_columns,
    not_storable,
)
from catchment.jvm.causes import is_a

MAX_RACES = 100


def fit(spark: SparkSession, frame: DataFrame, write: Write, table: Table) -> DataFrame:
    """The rows with all columns of the table; raises if they cannot be written to it."""
    columns = _columns(spark, table)
    for _ in range(MAX_RACES):
        found = differences(frame.schema, columns)
        check(write, found)
        if not any(difference.grows for difference in found):
            break
        if not _grow(spark, frame, write, table):
            table.refresh()
        columns = _columns(spark, table)
    empty = missing_columns(frame.schema, columns)
    return frame.withColumns({field.name: F.lit(None).cast(field.dataType) for field in empty}) if empty else frame


def iceberg_schema(spark: SparkSession, frame: DataFrame, write: Write) -> Any:
    """The schema of a new table for these rows."""
    if untyped := columns_without_type(frame.schema):
        raise not_storable(write, "Iceberg", f"a bare NULL ({', '.join(untyped)})")
    # All columns are nullable, as in tables that Spark creates: one query without nulls is no promise for the next.
    kind = frame._jdf.schema().asNullable()
    try:
        return Jvm.of(spark).iceberg("spark.SparkSchemaUtil").convert(kind)
    except Exception as error:
        raise not_storable(write, "Iceberg", from_spark(error).message) from error


def _grow(spark: SparkSession, frame: DataFrame, write: Write, table: Table) -> bool:
    """Add the columns that the table lacks; False if another job changed the table first."""
    change = table.updateSchema().caseSensitive(False).unionByNameWith(iceberg_schema(spark, frame, write))  # noqa: FBT003
    try:
        change.commit()
    except Exception as error:
        if not is_a(error, f"{EXCEPTIONS}CommitFailedException"):
            raise
        return False
    return True


def _columns(spark: SparkSession, table: Table) -> StructType:
    return StructType.fromJson(json.loads(tables(spark).schema(table)))
