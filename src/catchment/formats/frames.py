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
from catchment.plan.model import FileAddress, InputPlan

MAX_SCHEMA = 2 * 1024 * 1024
"""In bytes; the same limit as for workflow files."""


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
    text = source.schema if source.schema_file is None else _read_schema(spark, source, source.schema_file)
    if text is None:
        return None
    try:
        kind = _from_avro(spark, text) if source.schema_type == "avro" else _from_spark(spark, text)
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


def _read_schema(spark: SparkSession, source: InputPlan, file: FileAddress) -> str:
    jvm = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(file.path)
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    if not system.exists(path) or not system.getFileStatus(path).isFile():
        raise _no_schema(source, f"there is no file {file.address} ({file.path})", "check the address in `schemaPath`")
    if system.getFileStatus(path).getLen() > MAX_SCHEMA:
        raise _no_schema(source, f"{file.address} is larger than {MAX_SCHEMA:,} bytes", "name the file of the schema")
    stream = system.open(path)
    try:
        return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()
    except UnicodeDecodeError as error:
        raise _no_schema(source, f"{file.address} is not UTF-8 text", "name the file of the schema") from error
    finally:
        stream.close()


def _no_schema(source: InputPlan, what: str, hint: str) -> JobError:
    return JobError(f"input {source.name}: {what}", code="schema-not-found", where=source.where, hint=hint)


def _from_spark(spark: SparkSession, text: str) -> StructType:
    if text.lstrip().startswith("{"):
        return StructType.fromJson(json.loads(text))
    return StructType.fromJson(json.loads(spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(text).json()))


def _from_avro(spark: SparkSession, text: str) -> StructType:
    jvm = spark._jvm
    parsed = getattr(jvm, "org.apache.avro.Schema$Parser")().parse(text)
    converters = getattr(jvm, "org.apache.spark.sql.avro.SchemaConverters")
    return StructType.fromJson(json.loads(converters.toSqlType(parsed).dataType().json()))
