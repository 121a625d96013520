"""Statements whose commits say where they come from. SQL has no word for that; Iceberg takes it from the caller."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from catchment.commit.jvm import Jvm
from catchment.formats.iceberg.callbacks import callback, java_class


def run_stamped(spark: SparkSession, sql: str, stamps: Mapping[str, str]) -> None:
    """Run a statement; every snapshot that it makes carries the stamps, and nothing else in this session does."""
    jvm = Jvm.of(spark)
    properties = jvm("java.util.HashMap")()
    for key, value in stamps.items():
        properties.put(key, value)
    # Called in the thread that holds the stamps.
    call = callback(spark, "java.util.concurrent.Callable", spark._jsparkSession, "sql", "java.lang.String", sql)
    jvm.iceberg("spark.CommitMetadata").withCommitProperties(properties, call, java_class(spark, "java.lang.Exception"))
