"""A Spark application with Catchment's writer in it, for benchmarks that look below the jobs.

Everything here also runs with an older checkout of Catchment on the path (`--beside`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace

from pyspark.sql import SparkSession

from catchment.commit.presence import announce
from catchment.commit.writer import Writer
from catchment.formats.delta import traits as delta
from catchment.formats.iceberg import traits as iceberg
from catchment.project.model import Catalog, Depot
from catchment.store import PATIENCE_SECONDS, open_store

NOTHING: Mapping[str, str] = MappingProxyType({})
SPARK = "4.1"
DELTA = {"spark.sql.extensions": str(delta.TRAITS.extension), **delta.settings((), SPARK, local=True)}
"""What an engine that knows a depot of Delta tables has."""


class Unheard:
    """Nobody hears what a write waits for, and nobody wants it to stop."""

    linger = SimpleNamespace(seconds=0.0)

    def warn(self, text: str) -> None:
        pass

    def check(self) -> None:
        pass

    def wait_to_seal(self) -> None:
        """Its turn is now."""


def start(
    lake: str, warehouse: str, jars: str, endpoint: str, more: Mapping[str, str] = NOTHING
) -> tuple[SparkSession, Writer]:
    """The session, with the catalog `lake`, and the writer; `endpoint` has the settings of S3A as JSON."""
    depot = Depot("lake", "iceberg", warehouse, Catalog(database=f"{lake}/catalog.db"))
    settings = {
        "spark.driver.extraClassPath": jars.replace(",", ":"),
        "spark.driver.memory": "1500m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        **iceberg.settings([depot], SPARK, local=True),
        **more,
    }
    if endpoint:
        settings |= {f"spark.hadoop.fs.s3a.{key}": value for key, value in json.loads(endpoint).items()}
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    store = open_store(f"sqlite:///{lake}/metastore.db", patience=PATIENCE_SECONDS)
    return spark, Writer(spark, store, announce(store), max_pending=1000)
