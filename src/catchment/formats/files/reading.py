"""Reads plain files. Rows of CSV and JSON are parsed in full, so that no bad row goes unnoticed.

A bad row is a record that Spark's parser cannot read: it is broken, or a value does not fit its column. Spark decides
what to do by the parse mode: with FAILFAST the query fails; with PERMISSIVE the text of the record is put into an
additional column, which tells good rows from bad ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import DataStreamReader
from pyspark.sql.types import StringType, StructField, StructType

from catchment.errors import CatchmentError, JobError
from catchment.formats.failures import from_spark
from catchment.formats.files.traits import DAMAGED, PARSED
from catchment.formats.frames import given_schema
from catchment.plan.model import InputPlan

BAD = "_catchment_bad_record"
"""The column in which Spark's parser puts the text of a bad row."""
MOST_LOOKED_AT = 1000
"""How many files are opened to find the one that is damaged."""
_NO_COLUMN = "_catchment_no_column"

_HEADER = {"header": "true"}
_READ = {"csv": {**_HEADER, "enforceschema": "false"}}
"""Options that an input has unless it says otherwise. `enforceschema: false` compares the header with the schema."""
_WRITTEN = {"csv": _HEADER}


def written_options(format: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options of Spark's writer for an output."""
    return {**_WRITTEN.get(format, {}), **options}


def read_files(spark: SparkSession, source: InputPlan) -> DataFrame:
    """The rows of an input without bad ones; a query that reads them fails if a bad row is not allowed."""
    if source.dataset.format in PARSED and source.bad_rows != "keep":
        parsing = Parsing.of(spark, source)
        return parsing.good(parsing.load("FAILFAST" if source.bad_rows == "fail" else "PERMISSIVE"))
    schema = given_schema(spark, source)
    reader = spark.read.format(source.dataset.format).options(**_read_options(source))
    try:
        frame = (reader.schema(schema) if schema else reader).load(source.dataset.path)
    except Exception as error:
        raise _with_file(spark, source, from_spark(error, otherwise="input-failed")) from error
    _check_columns(source, frame.schema)
    return frame


def stream_files(spark: SparkSession, source: InputPlan) -> DataFrame:
    """The rows of files as they arrive; without a schema, the files that exist already determine the columns."""
    if source.dataset.format in PARSED and source.bad_rows != "keep":
        parsing = Parsing.of(spark, source)
        return parsing.good(parsing.load("FAILFAST", spark.readStream))
    schema = given_schema(spark, source) or read_files(spark, source).schema
    reader = spark.readStream.format(source.dataset.format).options(**_read_options(source))
    return reader.schema(schema).load(source.dataset.path)


@dataclass(frozen=True)
class Parsing:
    """How the records of an input are parsed."""

    spark: SparkSession
    source: InputPlan
    columns: StructType
    """Without the column of bad rows."""

    @classmethod
    def of(cls, spark: SparkSession, source: InputPlan) -> Parsing:
        """The schema that an input declares, or else the one that Spark infers, which may have no columns."""
        source = replace(source, options={**_read_options(source), "columnnameofcorruptrecord": BAD})
        columns = given_schema(spark, source)
        if columns is not None:
            _check_no_corrupt_column(spark, source, columns)
        else:
            reader = spark.read.format(source.dataset.format).options(**source.options)
            inferred = reader.load(source.dataset.path).schema
            columns = StructType([field for field in inferred if field.name != BAD])
            if source.bad_rows == "fail" and BAD in inferred.names:  # known before any query runs
                raise JobError(f"input {source.name} has bad rows", code="bad-rows", where=source.where)
            if source.dataset.format == "csv" and _are_made_up(spark, source, columns):
                source = replace(source, options={**source.options, "enforceschema": "true"})
        return cls(spark, source, columns)

    @property
    def several_lines(self) -> bool:
        """Whether a record may have several lines."""
        return self.source.options.get("multiline", "").lower() == "true"

    def load(
        self, mode: Literal["FAILFAST", "PERMISSIVE"], reader: DataFrameReader | DataStreamReader | None = None
    ) -> DataFrame:
        """All rows, with the column of bad rows as the last one of the file."""
        for format in PARSED:  # a parser that skips rows by a condition does not parse the rest of such a row
            self.spark.conf.set(f"spark.sql.{format}.filterPushdown.enabled", "false")
        # Spark refuses to read nothing but the column of bad rows.
        columns = self.columns.fields or [StructField(_NO_COLUMN, StringType())]
        schema = StructType([*columns, StructField(BAD, StringType())])
        reader = reader or self.spark.read
        configured = reader.format(self.source.dataset.format).options(**self.source.options, mode=mode)
        return configured.schema(schema).load(self.source.dataset.path)

    def columns_of_files(self, rows: DataFrame) -> StructType:
        """The columns in the records; partition columns are in the names of directories."""
        relation = rows._jdf.queryExecution().analyzed().relation()
        partitions = set(relation.partitionSchema().fieldNames())
        return StructType([field for field in self.columns if field.name not in partitions])

    def good(self, rows: DataFrame) -> DataFrame:
        """The good rows among all rows."""
        _check_columns(self.source, self.columns)
        return rows.filter(~is_bad(rows)).drop(BAD)


def is_bad(rows: DataFrame) -> Column:
    """Whether a row is bad; every query with this condition parses every column."""
    columns = [column(name) for name in rows.columns if name != BAD]
    # A struct is never null, so this is true for every bad row. Spark does not know that, and reads all columns for it:
    # without it, a query would not notice that a column that it does not need cannot be parsed.
    return F.when(F.col(BAD).isNull(), F.lit(False)).otherwise(F.to_json(F.struct(*columns)).isNotNull())  # noqa: FBT003


def exact_path(file: str) -> str:
    """The path of one file, escaped so that Spark does not take it for a pattern."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", unquote(file))


def column(name: str) -> Column:
    """A column by its exact name."""
    escaped = name.replace("`", "``")
    return F.col(f"`{escaped}`")


def _read_options(source: InputPlan) -> dict[str, str]:
    return {**_READ.get(source.dataset.format, {}), **source.options}


def _check_columns(source: InputPlan, columns: StructType) -> None:
    if not columns.fields:
        raise JobError(
            f"input {source.name}: {source.dataset.address} has no rows that show its columns",
            code="input-empty",
            where=source.where,
            hint="put data there first, or give the input a schema",
        )


def _with_file(spark: SparkSession, source: InputPlan, problem: CatchmentError) -> CatchmentError:
    """The error with the name of the damaged file, which Spark omits for some formats when it infers a schema."""
    if problem.code != "input-failed":
        return problem
    files = spark.read.format("binaryFile").load(source.dataset.path).inputFiles()
    for file in sorted(files)[:MOST_LOOKED_AT]:
        try:
            spark.read.format(source.dataset.format).load(exact_path(file))
        except Exception as error:
            found, (code, hint) = from_spark(error, otherwise="input-failed"), DAMAGED
            message = f"input {source.name}: {file} cannot be read: {found.message}"
            return JobError(message, code=code, hint=hint, where=source.where, detail=found.detail)
    return problem


def _check_no_corrupt_column(spark: SparkSession, source: InputPlan, columns: StructType) -> None:
    name = spark.conf.get("spark.sql.columnNameOfCorruptRecord")
    if name in columns.names:
        raise JobError(
            f"input {source.name}: its schema has the column {name}, which would always be empty",
            code="schema-invalid",
            where=source.where,
            hint="remove the column; or add the option `mode: PERMISSIVE`, with which Spark keeps bad rows in it",
        )


def _are_made_up(spark: SparkSession, source: InputPlan, columns: StructType) -> bool:
    """Whether Spark has renamed columns of the header because names were missing or duplicate.

    It appends the number of the column. Such names are not in the header, so they cannot be compared with it.
    """
    if not any(name.endswith(str(number)) for number, name in enumerate(columns.names)):
        return False
    options = {name: value for name, value in source.options.items() if name not in ("header", "inferschema")}
    first = spark.read.format(source.dataset.format).options(**options).load(source.dataset.path).head()
    return first is not None and any(name not in tuple(first) for name in columns.names[: len(first)])
