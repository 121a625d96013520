"""Schemas that a workflow gives for its files."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from catchment.errors import JobError
from catchment.formats.failures import from_spark
from catchment.plan.model import InputPlan


def given_schema(spark: SparkSession, source: InputPlan) -> StructType | None:
    """The schema that an input declares, None where it declares none."""
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
