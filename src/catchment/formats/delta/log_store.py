"""Lets Delta commit through a log store of ours where the store itself can refuse a second commit of a version."""

from __future__ import annotations

import logging
from pathlib import Path

from pyspark.sql import SparkSession

from catchment.jvm import java_source
from catchment.jvm.classes import Jvm

CLASS = "catchment.delta.ConditionalLogStore"
SOURCE = Path(__file__).with_name("ConditionalLogStore.java")
SCHEMES = ("file", "s3", "s3a")
CONDITIONAL_SINCE = (3, 4, 2)
"""The first Hadoop whose S3 client can create a file only if it does not exist."""


def install(spark: SparkSession) -> None:
    """Let Delta use it, except where the user has configured a log store. Without it, the table's lease protects."""
    conf = spark.sparkContext._jsc.sc().conf()
    free = [scheme for scheme in SCHEMES if not conf.contains(key(scheme)) and _is_possible(spark, scheme)]
    if not free:
        return
    try:
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
    jvm = Jvm.of(spark)
    path = jvm("org.apache.hadoop.fs.Path")(log_path)
    settings = spark._jsparkSession.sessionState().newHadoopConf()
    scheme = str(path.getFileSystem(settings).getUri().getScheme())
    used = spark.sparkContext._jsc.sc().conf().get(key(scheme), "")
    return bool(used == CLASS and jvm(CLASS).refuses(path, settings))


def _is_possible(spark: SparkSession, scheme: str) -> bool:
    version = str(Jvm.of(spark)("org.apache.hadoop.util.VersionInfo").getVersion())
    return scheme == "file" or tuple(int(part) for part in version.split("-")[0].split(".")[:3]) >= CONDITIONAL_SINCE
