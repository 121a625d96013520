"""A Spark application with Catchment's writer in it, for benchmarks that look below the jobs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace

from pyspark.sql import SparkSession

from catchment.commit.presence import announce
from catchment.commit.writer import Writer
from catchment.formats.delta.traits import TRAITS as DELTA_TRAITS
from catchment.formats.iceberg.traits import TRAITS as ICEBERG_TRAITS
from catchment.store import PATIENCE_SECONDS, open_store

NOTHING: Mapping[str, str] = MappingProxyType({})


class Unheard:
    """Nobody hears what a write waits for, and nobody wants it to stop."""

    linger = SimpleNamespace(seconds=0.0)  # no import: checkouts before it (`--beside`) do not know the word

    def warn(self, text: str) -> None:
        pass

    def check(self) -> None:
        pass

    def wait_to_seal(self) -> None:
        """It may be sealed now."""


DELTA = {"spark.sql.extensions": str(DELTA_TRAITS.extension), **DELTA_TRAITS.settings((), "4.1", local=True)}
"""What an engine that knows a depot of Delta tables has."""


def start(
    lake: str, warehouse: str, jars: str, endpoint: str, more: Mapping[str, str] = NOTHING
) -> tuple[SparkSession, Writer]:
    """The session, with the catalog `lake`, and the writer; `endpoint` has the settings of S3A as JSON."""
    catalog = "spark.sql.catalog.lake"
    settings = {
        "spark.driver.extraClassPath": jars.replace(",", ":"),
        "spark.driver.memory": "1500m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "jdbc",
        f"{catalog}.uri": f"jdbc:sqlite:{lake}/catalog.db?busy_timeout=60000&journal_mode=WAL",
        f"{catalog}.warehouse": warehouse,
        f"{catalog}.jdbc.schema-version": "V1",
        f"{catalog}.cache-enabled": "false",
        **ICEBERG_TRAITS.settings((), "4.1", local=True),
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
    alive = announce(store)
    owner = getattr(alive, "owner", alive)  # checkouts before it (`--beside`) return the owner itself
    return spark, Writer(spark, store, owner, max_pending=1000)


def serve(bench: object) -> None:
    """Read tasks as JSON lines from standard input, and answer each with one line."""
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        print(json.dumps(getattr(bench, task.pop("do"))(**task)), flush=True)
    os._exit(0)
