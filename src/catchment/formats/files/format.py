"""The formats of plain files (json, csv, parquet, orc, avro, text): implements the protocols of `formats.model`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.commit.listener import Listener
from catchment.commit.recovery import Recovered, keep_buffers, recover
from catchment.commit.writer import Writer
from catchment.errors import JobError, RequestError
from catchment.formats.files.bad_rows import find_bad_rows, separate
from catchment.formats.files.filling import Shape
from catchment.formats.files.maintenance import MaintainedFiles
from catchment.formats.files.reading import read_files, stream_files, written_options
from catchment.formats.files.writing import publisher_of, write_files
from catchment.formats.frames import sorted_rows
from catchment.formats.model import EarlierWrite, FoundBadRows, Needs, SeparatedRows, Write, Written, written
from catchment.plan.model import Clause, Dataset, InputPlan, OutputPlan
from catchment.store.writes import Base


def open_format(name: str) -> Files:
    """The code of a format of files."""
    return Files(name)


@dataclass(frozen=True)
class Files:
    """A directory of files in one format."""

    name: str

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of all files at a path."""
        return read_files(spark, source)

    def read_stream(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of all files at a path, and of those that arrive there."""
        return stream_files(spark, source)

    def separate(self, spark: SparkSession, source: InputPlan) -> SeparatedRows:
        """The good and the bad rows of all files at a path."""
        return separate(spark, source)

    def find_bad_rows(self, spark: SparkSession, source: InputPlan, show: int) -> FoundBadRows:
        """Count the bad rows of all files at a path, and describe the first ones."""
        return find_bad_rows(spark, source, show)

    def input_version(self, spark: SparkSession, source: InputPlan) -> str | None:
        """The number and total size of the files; None if the path is a pattern or does not exist."""
        place = spark._jvm.org.apache.hadoop.fs.Path(source.dataset.path)
        files = place.getFileSystem(spark._jsc.hadoopConfiguration())
        if not files.exists(place):
            return None
        there = files.getContentSummary(place)
        return f"{there.getFileCount()} files of {there.getLength()} bytes"

    def earlier(self, spark: SparkSession, write: Write, writer: Writer) -> EarlierWrite | None:
        """The write from the ledger: files themselves have no history."""
        known = writer.earlier(write.id, write.output.dataset.target)
        return EarlierWrite(written(known), known.state == "committed", known.intent.inputs) if known else None

    def begin(self, spark: SparkSession, output: OutputPlan) -> Base | None:
        """None: files have no versions."""
        return None

    def write(self, spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
        """Stage the rows as files and publish them, unless this write is published already."""
        columns = _partition_columns(frame, write)
        ordered = sorted_rows(frame, write, [F.col(column) for column in columns])
        done = write_files(writer, spark, ordered, write, _shape(write, self.name, columns), listener)
        if done.intent.mode == "overwrite-partitions" and done.contents and not done.contents.files:
            listener.warn(f"output {write.output.name} has no rows: no partition is replaced")
        return written(done)

    def maintained(
        self, spark: SparkSession, dataset: Dataset, writer: Writer, needs: Needs, listener: Listener
    ) -> MaintainedFiles:
        """The dataset with its maintenance operations."""
        return MaintainedFiles(spark, dataset, writer, listener)

    def delete_rows(
        self, spark: SparkSession, condition: Clause, write: Write, writer: Writer, listener: Listener
    ) -> Written:
        """Plain files have no rows that could be deleted one by one; plans refuse it."""
        raise RequestError(
            "rows of plain files cannot be deleted", code="unsupported-actions", hint="overwrite their partitions"
        )

    def recover(self, spark: SparkSession, dataset: Dataset, writer: Writer, *, remove: bool) -> Recovered:
        """Publish sealed writes, and remove the stages of abandoned ones."""
        publisher = publisher_of(writer, dataset)
        return recover(publisher, publisher.destination.tidy if remove else keep_buffers)


def _shape(write: Write, format: str, columns: Sequence[str]) -> Shape:
    output = write.output
    options = {**output.options, "compression": output.compression} if output.compression else output.options
    return Shape(format, tuple(columns), written_options(format, options))


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
    _check_columns(frame, write)
    return [field.column for field in partitions]


def _check_columns(frame: DataFrame, write: Write) -> None:
    names, parts = [name.lower() for name in frame.columns], {field.column.lower() for field in write.output.partitions}
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise JobError(
            f"output {write.output.name} has the column {twice[0]} twice",
            code="column-twice",
            where=write.output.where,
            hint="give one of them another name in a step (SELECT … AS …)",
        )
    if parts and not set(names) - parts:
        raise JobError(
            f"output {write.output.name} is partitioned by all of its columns; its files would have no columns",
            code="partition-invalid",
            where=write.output.where,
            hint="leave one of the columns out of `partitionBy`",
        )
