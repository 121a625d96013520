"""The Delta format: implements the protocols of `formats.model`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.listener import Listener
from catchment.commit.recovery import Recovered
from catchment.commit.writer import Writer
from catchment.errors import RequestError
from catchment.formats.delta import catalog, dropping, history, inspection, log_store, writing
from catchment.formats.delta.catalog import located
from catchment.formats.delta.log import require_head
from catchment.formats.delta.maintenance import MaintainedTable
from catchment.formats.delta.recovery import recover_table
from catchment.formats.model import EarlierWrite, Facts, Needs, Write, Written
from catchment.formats.sql_names import Edit
from catchment.formats.table_drops import Droppable
from catchment.plan.model import Clause, Dataset, InputPlan, OutputPlan
from catchment.project.model import Depot
from catchment.store.writes import Base


def open_format(name: str) -> Delta:
    """The code of the format."""
    return Delta()


class Delta:
    """Tables at paths, with or without a catalog."""

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of the table; options may name a version or a time."""
        dataset = located(spark, source.dataset)
        require_head(spark, dataset)
        return spark.read.format("delta").options(**source.options).load(dataset.path)

    def read_stream(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows that are appended to the table."""
        dataset = located(spark, source.dataset)
        require_head(spark, dataset)
        return spark.readStream.format("delta").options(**source.options).load(dataset.path)

    def commits_after(self, spark: SparkSession, source: InputPlan, offset: Mapping[str, Any]) -> int | None:
        """The number of versions after the one that a stream has reached."""
        return history.commits_after(spark, source, offset)

    def commits(self, spark: SparkSession, source: InputPlan, known: str | None) -> tuple[str | None, str] | None:
        """The version that was read last, and the newest one."""
        return history.span(spark, source, known)

    def read_commits(self, spark: SparkSession, source: InputPlan, first: str | None, last: str) -> DataFrame:
        """The rows that were added after one version, up to another."""
        return history.read(spark, source, first, last)

    def input_version(self, spark: SparkSession, source: InputPlan) -> str | None:
        """The version that is read now; None if the input selects one itself."""
        return history.input_version(spark, source)

    def earlier(self, spark: SparkSession, write: Write, writer: Writer) -> EarlierWrite | None:
        """The write from the ledger, or else from the table's log."""
        return history.earlier(spark, write, writer)

    def begin(self, spark: SparkSession, output: OutputPlan) -> Base | None:
        """The table's version, for an output that must not replace what others commit from now on."""
        return history.head(spark, output)

    def write(self, spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
        """Commit the rows with Delta, unless this write is committed already."""
        dataset = located(spark, write.output.dataset)
        here = replace(write, output=replace(write.output, dataset=dataset))
        return writing.commit(spark, frame, here, writer, listener)

    def windows(self, spark: SparkSession, dataset: Dataset, since: float) -> Iterable[Facts]:
        """The windows of incremental jobs in the versions since a time."""
        return history.windows_since(spark, located(spark, dataset), since)

    def tables(self, spark: SparkSession, depot: Depot) -> Sequence[Facts]:
        """Every table of a depot."""
        return inspection.tables(spark, depot)

    def inspect(self, spark: SparkSession, what: str, dataset: Dataset, published: str | None) -> Facts:
        """Answer one question about a table."""
        return inspection.inspect(spark, what, dataset)

    def droppable(self, spark: SparkSession, dataset: Dataset, published: str | None) -> Droppable:
        """The table that a drop would remove."""
        return dropping.droppable(spark, dataset)

    def drop(
        self, spark: SparkSession, dataset: Dataset, published: str | None, writer: Writer, listener: Listener
    ) -> None:
        """Drop the table's name and remove its directory."""
        dropping.drop(spark, dataset, writer, listener)

    def maintained(
        self, spark: SparkSession, dataset: Dataset, writer: Writer, needs: Needs, listener: Listener
    ) -> MaintainedTable:
        """The table with its maintenance operations."""
        here = located(spark, dataset)
        require_head(spark, here)
        return MaintainedTable(spark, here, writer, needs, listener)

    def delete_rows(
        self, spark: SparkSession, condition: Clause, write: Write, writer: Writer, listener: Listener
    ) -> Written:
        """Not supported yet; plans refuse it."""
        raise RequestError(
            "rows of delta tables cannot be deleted", code="unsupported-actions", hint="use a merge, or overwrite"
        )

    def recover(self, spark: SparkSession, dataset: Dataset, writer: Writer, *, remove: bool) -> Recovered:
        """Finish or abandon unfinished writes of dead engines; Delta's VACUUM removes the files of abandoned ones."""
        return recover_table(spark, dataset, writer)

    def prepare(self, session: SparkSession) -> None:
        """Make Delta commit through a log store that refuses a second commit of a version, where that is possible."""
        log_store.install(session)

    def edits(self, sql: str, depots: Sequence[Depot]) -> Iterator[Edit]:
        """Replace tables by paths or by names in Spark's own catalog."""
        return catalog.edits(sql, depots)
