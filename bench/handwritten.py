"""The two-writer workflow as a data engineer would write it by hand: one PySpark script, two threads, one table.

Run by bench/overhead.py: python handwritten.py LAKE TRIPS JARS
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def main(lake: str, trips: str, jars: str) -> None:
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
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lakehouse.raw01")
    sample = spark.read.json(trips)
    dated = sample.withColumn("date_col", f.to_timestamp(f.col("pickup_datetime") / 1000))
    stamped = dated.withColumn("version", f.date_format(f.now(), "yyyyMMddHHmm")).withColumn("ts_ny_taxi", f.now())
    stamped.limit(0).writeTo("lakehouse.raw01.trips").using("iceberg").partitionedBy(f.months("date_col")).create()

    def job(vendor: int) -> None:
        stamped.where(f.col("vendor_id") == vendor).writeTo("lakehouse.raw01.trips").append()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(job, (1, 2)))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
