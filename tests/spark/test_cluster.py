"""The same jobs on a real standalone cluster with two workers; catalog and metastore in PostgreSQL, tables on S3."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from catchment.errors import EngineLost
from catchment.plan.model import JobPlan
from catchment.project.model import Catalog, Depot
from catchment.store import open_store
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import until, worker_of
from tests.ledgers import end_leases
from tests.servers import cluster, postgres, s3
from tests.servers.cluster import Cluster
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import SECRET, S3Server
from tests.spark.lake import UNPREPARED, LiveEngine, Pending, by, files, files_depot, table, writing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

CONF = {
    **UNPREPARED,
    "spark.driver.host": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.cores.max": "2",
    "spark.task.maxFailures": "2",
}
TASKS = 16
LONG = f"SELECT id FROM range(0, {TASKS * 4_000_000}, 1, {TASKS}) WHERE id % 400000 = 0"
"""Many tasks of seconds each; every one writes a few rows at its end."""
LONG_IDS = [number * 400_000 for number in range(TASKS * 10)]
TOO_MUCH = "SELECT size(sequence(1, 200000000 + id)) AS id FROM range(0, 2, 1, 2)"
"""More for one row than an executor has."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = cluster.start(tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    started = s3.start(s3.jar(), tmp_path_factory.mktemp("s3"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    started = postgres.start()
    with psycopg.connect(started.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE metastore")
    yield started
    started.stop()


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


def await_tasks(pending: Pending, count: int) -> None:
    """Wait until so many tasks of a job are done."""
    while pending.wait_for("progress").data["done"] < count:
        pass


def long_job() -> JobPlan:
    return writing(LONG, table("long"), name="long", mode="append")


def test_a_cluster_with_two_workers(
    running: Cluster,
    store: S3Server,
    database: PostgresServer,
    start_java: Callable[..., LiveEngine],
    tmp_path: Path,
) -> None:
    catalog = Catalog("jdbc", database.jdbc, properties={"jdbc.user": "postgres"})
    lake = Depot("lake", "iceberg", "s3a://lake/warehouse", catalog, store.spark_conf())
    metastore = database.url_of("metastore")

    def start(key: str) -> LiveEngine:
        depots = lake, files_depot(tmp_path)
        return start_java(*depots, key=key, master=running.master, conf=CONF, metastore=metastore, secrets=(SECRET,))

    engine = start("first")
    application = engine.ready(600).application_id
    assert application.startswith("app-")
    writes_tables_and_files(engine, tmp_path)
    assert len(running.executors(application)) == 2

    survives_the_death_of_an_executor(engine, running, application)
    says_that_an_executor_ran_out_of_memory(engine)

    # The driver dies in the middle of a job; whoever takes the run up writes every row once.
    attempt = engine.start_job(long_job(), run="run-1")
    await_tasks(attempt, 2)
    os.killpg(worker_of(engine), signal.SIGKILL)
    assert isinstance(attempt.answer(), EngineLost)
    with open_store(metastore) as ledger:
        end_leases(ledger, worker_of(engine))
    until(lambda: not running.executors(application))  # the cluster ends what nobody drives any more
    second = start("second")
    [report] = second.run(long_job(), run="run-1", number=2)
    assert report.rows == len(LONG_IDS)
    assert ids(second, "long") == sorted([*LONG_IDS, *LONG_IDS])  # this run, and the one with the lost executor
    check(second, "long")


def writes_tables_and_files(engine: LiveEngine, root: Path) -> None:
    sql = "SELECT id, TIMESTAMP '2020-01-01' AS ts, 'first' AS mark FROM range(0, 100, 1, 4)"
    spec = (by("month", "ts"), by("bucket", "id", 2))
    for number in (0, 1):
        job = writing(sql.replace("(0, 100", f"({number * 100}, {number * 100 + 100}"), table("t"), partitions=spec)
        [report] = engine.run(job)
        assert report.rows == 100
    other = "SELECT id, TIMESTAMP '2020-02-01' AS ts, 'other' AS mark FROM range(200, 210)"
    engine.run(writing(other, table("t"), partitions=spec))
    again = "SELECT id, TIMESTAMP '2020-01-01' AS ts, 'again' AS mark FROM range(0, 100, 1, 4)"
    engine.run(writing(again, table("t"), mode="overwrite-partitions", partitions=spec))
    marks = engine.rows("SELECT mark, count(*), count(DISTINCT id) FROM lake.raw.t GROUP BY mark ORDER BY mark")
    assert marks == [("again", 100, 100), ("other", 10, 10)]
    check(engine, "t")
    [report] = engine.run(writing(sql, files(root / "drop" / "d", "avro")))
    assert report.rows == 100


def survives_the_death_of_an_executor(engine: LiveEngine, running: Cluster, application: str) -> None:
    attempt = engine.start_job(long_job())
    await_tasks(attempt, 2)
    victim, *_ = running.executors(application)
    kill(victim)
    [report] = attempt.done()
    assert report.rows == len(LONG_IDS)
    assert ids(engine, "long") == LONG_IDS
    assert victim not in running.executors(application)


def says_that_an_executor_ran_out_of_memory(engine: LiveEngine) -> None:
    failed = engine.fail(writing(TOO_MUCH, table("u"), name="greedy"))
    assert (failed.code, failed.retryable) == ("out-of-memory", False)
    assert "512m (spark.executor.memory)" in failed.message
    assert "spark.executor.memory" in str(failed.hint)
    [report] = engine.run(writing("SELECT 1 AS id", table("u")))
    assert report.rows == 1
