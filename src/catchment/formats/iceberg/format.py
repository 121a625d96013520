"""Iceberg as a format of datasets."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.formats.iceberg import incremental, states, writing
from catchment.formats.model import Capabilities, Earlier, Write, Written
from catchment.plan.model import InputPlan, OutputPlan
from catchment.store.writes import Base


class Iceberg:
    """A table of a catalog."""

    capabilities = Capabilities(
        atomic=True, history=True, transforms=True, schema_evolution=True, remembers_writes=True
    )

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of the table; options may name a branch, a snapshot or a time."""
        return spark.read.options(**source.options).table(source.dataset.identifier)

    def commits(self, spark: SparkSession, source: InputPlan, known: str | None) -> tuple[str | None, str] | None:
        """From after the snapshot that was read last to the newest one."""
        return incremental.span(spark, source, known)

    def read_commits(self, spark: SparkSession, source: InputPlan, first: str | None, last: str) -> DataFrame:
        """The rows that were added after one snapshot, up to another."""
        return incremental.read(spark, source, first, last)

    def state(self, spark: SparkSession, source: InputPlan) -> str | None:
        """The snapshot that is read now; None where the input names one itself."""
        return states.reading_state(spark, source)

    def earlier(self, spark: SparkSession, write: Write, writer: Writer) -> Earlier | None:
        """From the ledger; a direct commit is in the table's history alone."""
        return states.earlier(spark, write, writer)

    def begin(self, spark: SparkSession, output: OutputPlan) -> Base | None:
        """The table's head, for an output that must not replace what others commit from now on."""
        return states.head(spark, output) if output.conflict != "last-wins" else None

    def write(self, spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
        """Commit the rows, unless this very write has been committed before."""
        return writing.commit(spark, frame, write, writer, listener)
