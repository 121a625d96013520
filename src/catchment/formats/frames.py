"""DataFrames: the schema that an input declares, and the order that an output requires."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from catchment.errors import JobError
from catchment.formats.failures import from_spark
from catchment.formats.model import Write
from catchment.plan.model import InputPlan


def sorted_rows(frame: DataFrame, write: Write, partitions: Sequence[Column]) -> DataFrame:
    """Sort rows by partition and then by the output's columns; a task then writes one file after the other."""
    sort = write.output.sort
    if sort is None:
        return frame
    known = {name.lower() for name in frame.columns}
    if missing := [column.name for column in sort.columns if column.name.split(".")[0].lower() not in known]:
        raise JobError(
            f"output {write.output.name} is to be sorted by {', '.join(missing)}, which its rows do not have",
            code="column-not-found",
            where=write.output.where,
            hint=f"the columns are {', '.join(frame.columns)}",
        )
    order = [
        *partitions,
        *(F.desc(column.name) if column.descending else F.asc(column.name) for column in sort.columns),
    ]
    if sort.mode == "global":
        return frame.orderBy(*order)
    together = frame.repartition(*partitions) if partitions else frame
    return together.sortWithinPartitions(*order)


def given_schema(spark: SparkSession, source: InputPlan) -> StructType | None:
    """The schema that an input declares; None if it declares none."""
    if source.schema is None:
        return None
    try:
        kind = _from_avro(spark, source.schema) if source.schema_type == "avro" else _from_spark(spark, source.schema)
    except Exception as error:
        problem = from_spark(error)
        raise JobError(
            f"input {source.name}: its schema is not valid: {problem.message}",
            code="schema-invalid",
            where=source.where,
            hint="give Spark DDL (a INT, b STRING), the JSON of a Spark StructType, or an Avro record schema",
            detail=problem.detail,
        ) from error
    return kind


def _from_spark(spark: SparkSession, text: str) -> StructType:
    if text.lstrip().startswith("{"):
        return StructType.fromJson(json.loads(text))
    return StructType.fromJson(json.loads(spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(text).json()))


def _from_avro(spark: SparkSession, text: str) -> StructType:
    jvm = spark._jvm
    parsed = getattr(jvm, "org.apache.avro.Schema$Parser")().parse(text)
    converters = getattr(jvm, "org.apache.spark.sql.avro.SchemaConverters")
    return StructType.fromJson(json.loads(converters.toSqlType(parsed).dataType().json()))
