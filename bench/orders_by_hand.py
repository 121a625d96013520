"""The workflow of `catchment init` as a data engineer would write it by hand, for spark-submit.

Run by bench/latency.py: spark-submit --jars JARS orders_by_hand.py LAKE ORDERS
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

COLUMNS = "order_id BIGINT, region STRING, amount DOUBLE, ordered_on DATE"


def main(lake: str, orders: str) -> None:
    Path(lake).mkdir(parents=True, exist_ok=True)
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config("spark.sql.catalog.lakehouse", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.lakehouse.type", "jdbc")
        .config("spark.sql.catalog.lakehouse.uri", f"jdbc:sqlite:{lake}/catalog.db?busy_timeout=60000")
        .config("spark.sql.catalog.lakehouse.warehouse", lake)
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lakehouse.shop")
    spark.sql(f"CREATE TABLE IF NOT EXISTS lakehouse.shop.orders ({COLUMNS}) USING iceberg PARTITIONED BY (region)")
    spark.read.json(orders).createOrReplaceTempView("orders")

    def job(region: str) -> None:
        rows = spark.sql(
            "SELECT order_id, region, amount, to_date(ordered_on) AS ordered_on FROM orders WHERE region = :region",
            args={"region": region},
        )
        rows.writeTo("lakehouse.shop.orders").append()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(job, ("north", "south")))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
