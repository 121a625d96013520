"""The Paimon format: implements the protocols of `formats.model`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.listener import Listener
from catchment.commit.recovery import Recovered
from catchment.commit.writer import Writer
from catchment.formats.model import EarlierWrite, Facts, Needs, Requester, Write, Written
from catchment.formats.paimon import changes, dropping, history, inspection, java, writing
from catchment.formats.paimon.maintenance import MaintainedTable
from catchment.formats.paimon.recovery import recover_table
from catchment.formats.paimon.table import require_table
from catchment.formats.spark_catalogs import opened_catalogs
from catchment.formats.table_drops import Droppable
from catchment.plan.model import ChangePlan, Clause, Dataset, InputPlan, OutputPlan
from catchment.project.model import Depot
from catchment.store.writes import Base


def open_format(name: str) -> Paimon:
    """The code of the format."""
    return Paimon()


class Paimon:
    """Tables in a Paimon catalog."""

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of the table; options may name a snapshot, a time or a tag."""
        return history.read(spark, source)

    def read_stream(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of the table, and those that are added to it."""
        return history.read_stream(spark, source)

    def commits_after(self, spark: SparkSession, source: InputPlan, offset: Mapping[str, Any]) -> int | None:
        """The number of snapshots after the one that a stream has reached."""
        return history.commits_after(spark, source, offset)

    def input_version(self, spark: SparkSession, source: InputPlan) -> str | None:
        """The snapshot that is read now; None if the input selects one itself."""
        return history.input_version(spark, source)

    def commits(self, spark: SparkSession, source: InputPlan, known: str | None) -> tuple[str | None, str] | None:
        """The snapshot that was read last, and the newest one."""
        return history.span(spark, source, known)

    def read_commits(self, spark: SparkSession, source: InputPlan, first: str | None, last: str) -> DataFrame:
        """The rows that were added after one snapshot, up to another."""
        return history.read_commits(spark, source, first, last)

    def begin(self, spark: SparkSession, output: OutputPlan) -> Base | None:
        """The table's state, for an output that must not replace what others commit from now on."""
        return history.head(spark, output)

    def earlier(self, spark: SparkSession, write: Write, writer: Writer) -> EarlierWrite | None:
        """The write from the ledger."""
        return history.earlier(write, writer)

    def write(self, spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
        """Write the rows to a buffer and publish them, unless this write is committed already."""
        return writing.commit(spark, frame, write, writer, listener)

    def windows(self, spark: SparkSession, dataset: Dataset, since: float) -> Iterable[Facts]:
        """The windows of incremental jobs in the snapshots since a time."""
        return history.windows_since(spark, dataset, since)

    def tables(self, spark: SparkSession, depot: Depot) -> Sequence[Facts]:
        """Every table of a depot."""
        return inspection.tables(spark, depot)

    def inspect(self, spark: SparkSession, what: str, dataset: Dataset, published: str | None) -> Facts:
        """Answer one question about a table."""
        return inspection.inspect(spark, what, dataset)

    def change(
        self,
        spark: SparkSession,
        change: ChangePlan,
        requester: Requester,
        writer: Writer,
        listener: Listener,
        *,
        dry_run: bool,
    ) -> Facts:
        """Create or delete a tag, or roll back to an earlier snapshot."""
        return changes.change(spark, change, requester, writer, listener, dry_run=dry_run)

    def droppable(self, spark: SparkSession, dataset: Dataset, published: str | None) -> Droppable:
        """The table that a drop would remove."""
        return dropping.droppable(spark, dataset)

    def drop(
        self, spark: SparkSession, dataset: Dataset, published: str | None, writer: Writer, listener: Listener
    ) -> None:
        """Drop the table with its files."""
        dropping.drop(spark, dataset, writer, listener)

    def maintained(
        self, spark: SparkSession, dataset: Dataset, writer: Writer, needs: Needs, listener: Listener
    ) -> MaintainedTable:
        """The table with its maintenance operations."""
        require_table(spark, dataset)
        return MaintainedTable(spark, dataset, writer, needs, listener)

    def delete_rows(
        self, spark: SparkSession, condition: Clause, write: Write, writer: Writer, listener: Listener
    ) -> Written:
        """Delete rows of a table with a primary key, unless this write is committed already."""
        return writing.delete_rows(spark, condition, write, writer, listener)

    def recover(self, spark: SparkSession, dataset: Dataset, writer: Writer, *, remove: bool) -> Recovered:
        """Finish or abandon the unfinished writes of dead engines."""
        return recover_table(spark, dataset, writer)

    def prepare(self, session: SparkSession) -> None:
        """Load the Java that commits with one compare-and-swap."""
        java.install(session)

    def close(self, session: SparkSession) -> None:
        """Close the connections of this session's catalogs."""
        for catalog in opened_catalogs(session, "org.apache.paimon.spark.SparkCatalog"):
            catalog.paimonCatalog().close()
