"""Makes Delta commit through our own log store where the store itself can refuse a second commit of a version."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from catchment.formats import swap_gate
from catchment.jvm import java_source
from catchment.jvm.classes import Jvm

CLASS = "catchment.delta.ConditionalLogStore"
SOURCE = Path(__file__).with_name("ConditionalLogStore.java")
SCHEMES = ("file", "s3", "s3a")
PUT_CLASS = "catchment.delta.ConditionalPut"
PUT_SOURCE = Path(__file__).with_name("ConditionalPut.java")


def install(spark: SparkSession) -> None:
    """Make Delta use our log store, unless the user has configured one. Without it, commits need the table's lease."""
    conf = spark.sparkContext._jsc.sc().conf()
    free = [scheme for scheme in SCHEMES if not conf.contains(key(scheme))]
    if not free:
        return
    try:
        swap_gate.install(spark)
        java_source.load(spark, PUT_CLASS, PUT_SOURCE)
        java_source.load(spark, CLASS, SOURCE)
    except Exception:
        logging.getLogger(__name__).warning("no log store that refuses a second commit", exc_info=True)
        return
    for scheme in free:
        conf.set(key(scheme), CLASS)


def key(scheme: str) -> str:
    """The setting that chooses the log store of a scheme."""
    return f"spark.delta.logStore.{scheme}.impl"


def refuses_second_commit(spark: SparkSession, log_path: str) -> bool:
    """Whether our log store is in use for a table's log, and its store refuses to create a file that exists."""
    path, settings = _path(spark, log_path)
    return _is_used(spark, path, settings) and bool(Jvm.of(spark)(CLASS).refuses(path, settings))


def gate_of(spark: SparkSession, table: str) -> str | None:
    """The gate at which compactions of a table wait for its lease; None if another log store is in use."""
    path, settings = _path(spark, table)
    return str(Jvm.of(spark)(CLASS).gateOf(path, settings)) if _is_used(spark, path, settings) else None


def _path(spark: SparkSession, place: str) -> tuple[Any, Any]:
    """A Hadoop path, and the settings of its file system."""
    path = Jvm.of(spark)("org.apache.hadoop.fs.Path")(place)
    return path, spark._jsparkSession.sessionState().newHadoopConf()


def _is_used(spark: SparkSession, path: Any, settings: Any) -> bool:
    scheme = str(path.getFileSystem(settings).getUri().getScheme())
    return bool(spark.sparkContext._jsc.sc().conf().get(key(scheme), "") == CLASS)
