"""Drops a Delta table: its name, if a catalog has one, and its directory, which is the table."""

from __future__ import annotations

from pyspark.sql import SparkSession

from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.formats.delta.catalog import located, name_of
from catchment.formats.delta.log import require_head
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset


def drop(spark: SparkSession, dataset: Dataset, writer: Writer, listener: Listener) -> None:
    """Drop the table under its lease, so that nobody commits to it meanwhile."""
    here = located(spark, dataset)
    require_head(spark, here)
    jvm = Jvm.of(spark)
    place = jvm("org.apache.hadoop.fs.Path")(here.path)
    with table_lease(writer.store, str(here.path), writer.owner, listener, spark_progress(spark)):
        if here.named:
            spark.sql(f"DROP TABLE IF EXISTS {name_of(here)}")
        files = place.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
        files.delete(place, True)  # noqa: FBT003
        jvm("org.apache.spark.sql.delta.DeltaLog").invalidateCache(spark._jsparkSession, place)
