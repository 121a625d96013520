"""The Iceberg format: implements the protocols of `formats.model`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from py4j.java_gateway import is_instance_of
from pyspark.sql import DataFrame, SparkSession

from catchment.commit.listener import Listener
from catchment.commit.recovery import Recovered
from catchment.commit.writer import Writer
from catchment.errors import CatchmentError
from catchment.formats.iceberg import catalogs, dropping, history, inspection, published_names, snapshot_lookup, writing
from catchment.formats.iceberg.changes.kinds import make_change
from catchment.formats.iceberg.maintenance.operations import Operations
from catchment.formats.iceberg.recovery import recover_table
from catchment.formats.iceberg.row_changes import delete_rows
from catchment.formats.model import EarlierWrite, Facts, Needs, Requester, Write, Written
from catchment.formats.spark_catalogs import opened_catalogs
from catchment.formats.table_drops import Droppable
from catchment.plan.model import ChangePlan, Clause, Dataset, InputPlan, OutputPlan
from catchment.project.model import Depot
from catchment.store.writes import Base


def open_format(name: str) -> Iceberg:
    """The code of the format."""
    return Iceberg()


class Iceberg:
    """Tables of a catalog."""

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of the table; options may name a branch, a snapshot or a time."""
        return spark.read.options(**source.options).table(source.dataset.identifier)

    def read_stream(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows that are appended to the table."""
        return spark.readStream.options(**source.options).table(source.dataset.identifier)

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
        return history.read(spark, source, first, last)

    def begin(self, spark: SparkSession, output: OutputPlan) -> Base | None:
        """The table's head, for an output that must not replace what others commit from now on."""
        return history.head(spark, output) if output.conflict != "last-wins" else None

    def earlier(self, spark: SparkSession, write: Write, writer: Writer) -> EarlierWrite | None:
        """The write from the ledger; a direct commit is only in the table's history."""
        return history.earlier(spark, write, writer)

    def write(self, spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
        """Commit the rows, unless this write is committed already."""
        return writing.commit(spark, frame, write, writer, listener)

    def windows(self, spark: SparkSession, dataset: Dataset, since: float) -> Iterable[Facts]:
        """The windows of incremental jobs in the snapshots since a time."""
        table = catalogs.find_table(spark, dataset)
        return snapshot_lookup.windows_since(spark, table, since) if table is not None else ()

    def tables(self, spark: SparkSession, depot: Depot) -> Sequence[Facts]:
        """Every table that the depot's catalog knows."""
        return inspection.tables(spark, depot.name)

    def inspect(self, spark: SparkSession, what: str, dataset: Dataset, published: str | None) -> Facts:
        """Answer one question about a table."""
        return inspection.inspect(spark, what, dataset, published)

    def recover(self, spark: SparkSession, dataset: Dataset, writer: Writer, *, remove: bool) -> Recovered:
        """Publish sealed writes, abandon lost ones, and remove files that no snapshot refers to."""
        return recover_table(spark, dataset, writer, remove=remove)

    def change(
        self,
        spark: SparkSession,
        change: ChangePlan,
        requester: Requester,
        writer: Writer,
        listener: Listener,
        *,
        dry_run: bool,
    ) -> Mapping[str, Any]:
        """Change the table's metadata with one swap."""
        return make_change(spark, change, requester, writer, listener, dry_run=dry_run)

    def droppable(self, spark: SparkSession, dataset: Dataset, published: str | None) -> Droppable:
        """The table, and whether it has a published version."""
        return dropping.droppable(spark, dataset, published)

    def drop(
        self, spark: SparkSession, dataset: Dataset, published: str | None, writer: Writer, listener: Listener
    ) -> None:
        """Drop the table and withdraw its published version."""
        dropping.drop(spark, dataset, published, writer, listener)

    def maintained(
        self, spark: SparkSession, dataset: Dataset, writer: Writer, needs: Needs, listener: Listener
    ) -> Operations:
        """The table with its maintenance operations."""
        return Operations(spark, dataset, catalogs.require_table(spark, dataset), writer, needs, listener)

    def delete_rows(
        self, spark: SparkSession, condition: Clause, write: Write, writer: Writer, listener: Listener
    ) -> Written:
        """Delete rows in one commit."""
        return delete_rows(spark, condition, write, writer, listener)

    def published(self, sql: str, depots: Sequence[Depot]) -> str:
        """The query over published versions."""
        return published_names.query_published(sql, depots)

    def unpublished(self, spark: SparkSession, sql: str, depots: Sequence[Depot]) -> CatchmentError | None:
        """Why a table is not found in a published catalog."""
        return published_names.never_published(spark, sql, depots)

    def close(self, session: SparkSession) -> None:
        """Close the connections of this session's catalogs, which Spark never does."""
        for catalog in opened_catalogs(session, "org.apache.iceberg.spark.SparkCatalog"):
            inner = catalog.icebergCatalog()
            if is_instance_of(session.sparkContext._gateway, inner, "java.lang.AutoCloseable"):
                inner.close()
