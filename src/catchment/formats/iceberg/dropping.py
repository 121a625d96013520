"""Drops an Iceberg table: its published pointer first, then its name and all files that its snapshots refer to."""

from __future__ import annotations

from pyspark.sql import SparkSession

from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.formats.iceberg import catalogs
from catchment.formats.iceberg.file_protection import require_removable
from catchment.formats.iceberg.published import PublishedTable
from catchment.formats.table_drops import Droppable
from catchment.plan.model import Dataset


def droppable(spark: SparkSession, dataset: Dataset, published: str | None) -> Droppable:
    """The table that a drop would remove; raises if its files have to stay."""
    table = catalogs.require_table(spark, dataset)
    require_removable(table, dataset.address)
    uuid = str(table.operations().current().uuid())
    return Droppable(uuid, uuid, _is_published(spark, dataset, published))


def drop(spark: SparkSession, dataset: Dataset, published: str | None, writer: Writer, listener: Listener) -> None:
    """Drop the table under its leases, so that nobody commits to it or publishes it meanwhile."""
    lease = (writer.store, dataset.address, writer.owner, listener, spark_progress(spark))
    with table_lease(*lease, right="published"), table_lease(*lease):
        if published is not None and _is_published(spark, dataset, published):
            PublishedTable(spark, published, dataset).withdraw()
        catalogs.purge_table(spark, dataset)


def _is_published(spark: SparkSession, dataset: Dataset, published: str | None) -> bool:
    return published is not None and PublishedTable(spark, published, dataset).pointer() is not None
