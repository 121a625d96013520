"""A worker without a Java of its own: everything that is Python is its own and can be killed, the Java is its host's.

Between two calls of Java, which is where every point of `commit.faults` lies, an engine has nothing in Java that others
could see: no transaction is open, no lock is held. What a kill ends there is Python's: threads, locks, connections to
the metastore, signs of life. So a guest that is killed leaves behind what an engine that is killed leaves behind, and
takes one second to start instead of six.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from catchment.engine.protocol import Start
from catchment.engine.settings import spark_settings
from catchment.worker import session, worker

FIXED = frozenset({"spark.sql.extensions", "spark.sql.warehouse.dir", "spark.sql.catalogImplementation"})
"""What a running Spark does not let anybody change."""


class NoProcess:
    """Stands for the process of a Java that somebody else looks after."""

    stdin = None

    def poll(self) -> None:
        """It runs for as long as the gateway answers."""

    def wait(self, timeout: float | None = None) -> None:
        """Nobody waits for its end."""


class Sessions:
    """The running application, whose new sessions have the settings of this engine."""

    def __init__(self, spark: SparkSession, settings: dict[str, str], without: list[str]) -> None:
        self._spark = spark
        self._settings = settings
        self._without = without
        self.sparkContext = spark.sparkContext

    def newSession(self) -> SparkSession:  # noqa: N802 - Spark's name
        made = self._spark.newSession()
        for key in self._without:
            made.conf.unset(key)
        for key, value in self._settings.items():
            made.conf.set(key, value)
        return made

    def stop(self) -> None:
        """The application goes on."""


class Guest(session.Application):
    """An engine in the Java of another one."""

    @classmethod
    def start(cls, start: Start) -> Guest:
        """Find the application that runs already; the environment tells where."""
        session._make_directories(start)
        gateway = launch_gateway(SparkConf(loadDefaults=False))
        gateway.proc = NoProcess()
        running = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
        java_context = gateway.jvm.JavaSparkContext(running)
        conf = SparkConf(loadDefaults=False, _jconf=java_context.getConf())
        context = SparkContext(gateway=gateway, jsc=java_context, conf=conf)
        settings, theirs = spark_settings(start), dict(conf.getAll())
        own = {key: value for key, value in settings.items() if _is_of_a_session(key) and theirs.get(key) != value}
        redefined = tuple(f"{key}." for key in settings if key.startswith("spark.sql.catalog.") and key.count(".") == 3)
        without = [key for key in theirs if key.startswith(redefined) and key not in settings]
        sessions: Any = Sessions(SparkSession(context), own, without)
        return cls(sessions, gateway, start)

    def stop(self) -> None:
        """Leave; the Java is its host's."""


def _is_of_a_session(key: str) -> bool:
    return key.startswith(("spark.sql.", "spark.databricks.")) and key not in FIXED


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[3]))
    importlib.import_module("tests.formats")
    session.Application = Guest  # type: ignore[misc]
    worker.main()
