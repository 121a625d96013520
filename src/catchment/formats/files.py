"""Plain files: json, csv, parquet, orc, avro, text, as Spark reads and writes them."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.commit.model import Base
from catchment.commit.writer import Listener, Writer
from catchment.errors import JobError
from catchment.formats.model import Capabilities, Earlier, Write, Written
from catchment.formats.ordering import sorted_rows
from catchment.formats.schemas import given_schema
from catchment.plan.model import InputPlan, OutputPlan

FILE_FORMATS = frozenset({"json", "csv", "parquet", "orc", "avro", "text"})


@dataclass(frozen=True)
class Files:
    """A directory of files in one format."""

    name: str
    capabilities = Capabilities(
        atomic=False, history=False, transforms=False, schema_evolution=False, remembers_writes=False
    )

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of all files at a path."""
        reader: DataFrameReader = spark.read.format(self.name).options(**source.options)
        schema = given_schema(spark, source)
        return (reader.schema(schema) if schema else reader).load(source.dataset.path)

    def state(self, spark: SparkSession, source: InputPlan) -> str | None:
        """How many files there are and how long; None where the path is a pattern or leads nowhere."""
        place = spark._jvm.org.apache.hadoop.fs.Path(source.dataset.path)
        files = place.getFileSystem(spark._jsc.hadoopConfiguration())
        if not files.exists(place):
            return None
        there = files.getContentSummary(place)
        return f"{there.getFileCount()} files of {there.getLength()} bytes"

    def earlier(self, spark: SparkSession, write: Write, writer: Writer) -> Earlier | None:
        """Files do not remember writes."""
        return None

    def begin(self, spark: SparkSession, output: OutputPlan) -> Base | None:
        """Files have no states."""
        return None

    def write(self, spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
        """Write files at a path, the way Spark does."""
        path = str(write.output.dataset.path)
        columns = _partition_columns(frame, write)
        before = _files_at(spark, path)
        seen = Observation()
        ordered = sorted_rows(frame, write, [F.col(column) for column in columns])
        counted = ordered.observe(seen, F.count(F.lit(1)).alias("rows"))
        _writer(counted, write, columns).save(path, format=self.name)
        return Written(rows=int(seen.get["rows"]), files=len(_files_at(spark, path) - before))


def _partition_columns(frame: DataFrame, write: Write) -> list[str]:
    partitions = write.output.partitions
    if wrong := [field.transform for field in partitions if field.transform != "identity"]:
        raise JobError(
            f"output {write.output.name}: files cannot be partitioned by {', '.join(wrong)}",
            code="partition-invalid",
            where=write.output.where,
            hint="compute the value as a column in a step and name that column in `partitionBy`",
        )
    known = {name.lower() for name in frame.columns}
    if missing := [field.column for field in partitions if field.column.lower() not in known]:
        raise JobError(
            f"output {write.output.name} is partitioned by {', '.join(missing)}, which its rows do not have",
            code="column-not-found",
            where=write.output.where,
            hint=f"the columns are {', '.join(frame.columns)}",
        )
    return [field.column for field in partitions]


def _writer(frame: DataFrame, write: Write, columns: list[str]) -> DataFrameWriter:
    output = write.output
    # On the write itself, never on the session: a setting there would reach every other write of the job.
    replaced = "dynamic" if output.mode == "overwrite-partitions" else "static"
    options = {**output.options, "partitionOverwriteMode": replaced}
    if output.compression:
        options["compression"] = output.compression
    writer = frame.write.mode("append" if output.mode == "append" else "overwrite").options(**options)
    return writer.partitionBy(*columns) if columns else writer


def _files_at(spark: SparkSession, path: str) -> frozenset[str]:
    """The data files below a path, listed by Spark and not one by one across the gateway."""
    place = spark._jvm.org.apache.hadoop.fs.Path(path)
    if not place.getFileSystem(spark._jsc.hadoopConfiguration()).exists(place):
        return frozenset()
    listing = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(path)
    return frozenset(listing.inputFiles())
