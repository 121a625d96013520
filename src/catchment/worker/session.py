"""The Spark application inside a worker: one context, and a separate session for each attempt."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from catchment.commit.presence import Presence, announce, reading
from catchment.commit.upkeep import keep_small
from catchment.commit.writer import Writer
from catchment.engine.protocol import Ready, Start
from catchment.engine.settings import launch_settings, published, single_writer, spark_settings
from catchment.errors import CatchmentError, SetupError
from catchment.formats.failures import from_spark
from catchment.formats.model import ClosesSessions, PreparesEngines
from catchment.formats.registry import open_all
from catchment.job.cached_tables import uncache
from catchment.jvm.heap import Heap
from catchment.store import PATIENCE_SECONDS, open_store
from catchment.worker.admission import MemoryGate

CONNECT_SECONDS = 5.0
YARN_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""The environment variables that say where the settings of Hadoop are; Spark needs one of them on YARN."""


def require_master(master: str) -> None:
    """Raise if the master of a standalone cluster (or each of several) accepts no connection, or YARN is not known."""
    if master == "yarn" and not any(os.environ.get(name) for name in YARN_VARIABLES):
        raise SetupError(
            "nothing says where YARN is",
            code="yarn-not-configured",
            hint=f"set {' or '.join(YARN_VARIABLES)} to the directory with core-site.xml and yarn-site.xml",
        )
    if not master.startswith("spark://"):
        return
    problems = [
        problem for address in master.removeprefix("spark://").split(",") if (problem := _connection_problem(address))
    ]
    if len(problems) == master.count(",") + 1:
        raise unreachable(master, "; ".join(problems))


def unreachable(master: str, why: str, detail: str | None = None) -> SetupError:
    """The error for a master that cannot be reached."""
    return SetupError(
        f"the Spark master {master} cannot be reached: {why}",
        code="master-unreachable",
        hint="check that the master is running and that the engine's `master` has its host and port (spark://host:7077)",
        detail=detail,
    )


def _connection_problem(address: str) -> str | None:
    host, _, port = address.strip().rpartition(":")
    if not host or not port.isdigit():
        return f"{address} is not host:port"
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        return f"{address}: {error.strerror or error}"
    return None


EXIT_SECONDS = 10.0
"""How long a JVM may take to exit after its application has ended."""


class Application:
    """A running Spark application."""

    def __init__(self, spark: SparkSession, gateway: Any, start: Start) -> None:
        self._spark = spark
        self._gateway = gateway
        self._start = start
        self._opening = threading.Lock()
        self._writer: Writer | None = None
        self._presence: Presence | None = None
        self.context: SparkContext = spark.sparkContext
        self.heap = Heap(spark)
        self.memory = MemoryGate(self.heap)

    @classmethod
    def start(cls, start: Start) -> Application:
        """Start the JVM and the application in it."""
        require_master(start.engine.engine.master)
        _make_directories(start)
        settings = spark_settings(start)
        gateway = _launch(launch_settings(settings, start.secrets))
        try:
            context = SparkContext(gateway=gateway, conf=SparkConf(loadDefaults=False).setAll(list(settings.items())))
            spark = SparkSession(context)
            for format in open_all({depot.kind for depot in start.engine.depots}, PreparesEngines):
                format.prepare(spark)
            return cls(spark, gateway, start)
        except Exception as error:
            raise _start_failure(start, error) from error

    @property
    def writer(self) -> Writer:
        """Writes tables for this engine; its first use registers the engine as alive in the metastore."""
        with self._opening:
            self._writer = self._writer or self._open_writer()
            return self._writer

    def reading(self, who: str) -> contextlib.AbstractContextManager[None]:
        """Record in the metastore that somebody is reading, for as long as the context lasts."""
        if not (self._start.engine.metastore and self._start.engine.depots):
            return contextlib.nullcontext()
        return reading(self.writer.store, f"{who} on {self.writer.owner}")

    def _open_writer(self) -> Writer:
        store = open_store(self._start.engine.metastore, patience=PATIENCE_SECONDS)
        # This session is never closed, so that its catalogs are opened only once for all jobs.
        session = self._spark.newSession()
        max_pending = self._start.engine.settings.max_pending
        depots = self._start.engine.depots
        self._presence = announce(store)
        about = self._start.engine.engine
        store.engines.describe(self._presence.owner, about.name, self.context.version, about.master)
        keep_small(store, self._presence.owner, self._start.engine.settings.keep_days)
        return Writer(session, store, self._presence.owner, max_pending, single_writer(depots), published(depots))

    def ready(self) -> Ready:
        """The reply that the application is running."""
        context = self.context
        return Ready(spark_version=context.version, application_id=str(context.applicationId), ui=context.uiWebUrl)

    @contextlib.contextmanager
    def session(self) -> Iterator[SparkSession]:
        """A new session with its own views, settings and catalogs, active in the calling thread until it ends."""
        session = self._spark.newSession()
        sessions = getattr(self.context._jvm, "org.apache.spark.sql.SparkSession")
        outer = sessions.getActiveSession()
        sessions.setActiveSession(session._jsparkSession)
        try:
            yield session
        finally:
            uncache(session)
            for format in open_all({depot.kind for depot in self._start.engine.depots}, ClosesSessions):
                format.close(session)
            if outer.isDefined():
                sessions.setActiveSession(outer.get())
            else:
                sessions.clearActiveSession()

    def answers(self) -> bool:
        """Whether the JVM answers; does not return while the JVM hangs."""
        try:
            return self.process.poll() is None and bool(self._gateway.jvm.System.nanoTime())
        except (Py4JError, OSError):
            return False

    def stop_reason(self) -> str | None:
        """Why the application cannot run anything any more; None if it can."""
        if not self.answers():
            return "Java has ended"
        try:
            return "Spark has stopped" if self.context._jsc.sc().isStopped() else None
        except (Py4JError, OSError):
            return "Java has ended"

    def java_exit_code(self) -> int | None:
        """Wait for the JVM to end and return its exit code; None if it does not end in time."""
        try:
            return self.process.wait(EXIT_SECONDS)
        except TimeoutExpired:
            return None

    @property
    def process(self) -> Popen[bytes]:
        """The JVM's process."""
        process: Popen[bytes] = self._gateway.proc
        return process

    def stop(self) -> None:
        """End the application and its JVM."""
        self._spark.stop()
        if self._presence:
            self._presence.end()
        self._gateway.shutdown()
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


def _launch(settings: Mapping[str, str]) -> Any:
    try:
        return launch_gateway(SparkConf(loadDefaults=False).setAll(list(settings.items())))
    except PySparkRuntimeError as error:
        raise SetupError(
            "Java ended right after its start",
            code="engine-not-started",
            hint="the engine's log has Java's messages; often spark.driver.memory is more than this machine has",
        ) from error


def _start_failure(start: Start, error: Exception) -> CatchmentError:
    """The error for an application that did not start although its JVM did."""
    problem = from_spark(error, otherwise="engine-not-started")
    master = start.engine.engine.master
    if problem.code == "engine-not-started" and master.startswith("spark://"):
        return unreachable(master, "it did not register the application", problem.detail)
    if isinstance(problem, SetupError):
        return problem
    return SetupError(problem.message, code=problem.code, hint=problem.hint, detail=problem.detail)


def _make_directories(start: Start) -> None:
    Path(start.scratch).mkdir(parents=True, exist_ok=True)
    for depot in start.engine.depots:
        if depot.catalog and depot.catalog.database:
            Path(depot.catalog.database).parent.mkdir(parents=True, exist_ok=True)
