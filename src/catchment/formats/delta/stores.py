"""Which stores refuse to write the same version of a Delta table's log twice."""

from __future__ import annotations

from pyspark.sql import SparkSession

REFUSING = frozenset({"abfs", "abfss", "adl", "gs", "hdfs", "wasb", "wasbs"})
"""Where Delta's own log store writes a commit if and only if it is not there yet, whoever else tries."""


def needs_turns(spark: SparkSession, path: str) -> bool:
    """Whether two commits at the same time could both succeed, and one of them be lost."""
    scheme = path.partition("://")[0] if "://" in path else "file"
    # Whoever configures a log store of his own for a scheme vouches for it.
    return scheme not in REFUSING and not spark.conf.get(f"spark.delta.logStore.{scheme}.impl", "")
