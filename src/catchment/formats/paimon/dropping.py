"""Drops a Paimon table: Paimon removes its name and its directory."""

from __future__ import annotations

from pyspark.sql import SparkSession

from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.formats.paimon.catalogs import identifier, open_catalog
from catchment.formats.paimon.table import require_table
from catchment.formats.table_drops import Droppable
from catchment.plan.model import Dataset


def droppable(spark: SparkSession, dataset: Dataset) -> Droppable:
    """The table that a drop would remove."""
    id = require_table(spark, dataset).id
    return Droppable(id, id)


def drop(spark: SparkSession, dataset: Dataset, writer: Writer, listener: Listener) -> None:
    """Drop the table under its lease, so that nobody commits to it meanwhile."""
    table = require_table(spark, dataset)
    with table_lease(writer.store, table.location, writer.owner, listener, spark_progress(spark)):
        open_catalog(spark, dataset.depot).dropTable(identifier(spark, dataset), False)  # noqa: FBT003
