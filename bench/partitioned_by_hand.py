"""The append of bench/partitioned.py as a data engineer would write it by hand: one PySpark script.

Run by it: python partitioned_by_hand.py LAKE ROWS TRANSFORM COLUMN JARS
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def main(lake: str, rows: str, transform: str, column: str, jars: str) -> None:
    Path(lake).mkdir(parents=True)
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.jars", jars)
        .config("spark.driver.memory", "2g")
        .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config("spark.sql.catalog.lakehouse", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.lakehouse.type", "jdbc")
        .config("spark.sql.catalog.lakehouse.uri", f"jdbc:sqlite:{lake}/catalog.db?busy_timeout=60000")
        .config("spark.sql.catalog.lakehouse.warehouse", lake)
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lakehouse.raw")
    read = spark.read.parquet(rows)
    spec = f.months(column) if transform == "month" else f.col(column)
    read.limit(0).writeTo("lakehouse.raw.rows").using("iceberg").partitionedBy(spec).create()
    read.writeTo("lakehouse.raw.rows").append()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
