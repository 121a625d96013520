"""The same jobs on real clusters with two workers: standalone with tables on S3, and YARN with tables on HDFS.

Metastore and catalog are in PostgreSQL.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import Dataset, JobPlan
from catchment.project.model import Depot
from catchment.store import open_store
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import until, worker_of
from tests.ledgers import end_leases
from tests.matrices import exhaustive
from tests.servers import cluster, yarn
from tests.servers.cluster import executors, spark_home
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import SECRET, S3Server
from tests.spark.lake import UNPREPARED, LiveEngine, Pending, by, files, files_depot, table, writing
from tests.stores import lakes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

CONF = {
    **UNPREPARED,
    "spark.driver.host": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.task.maxFailures": "2",
}
TASKS = 16
LONG = f"SELECT id FROM range(0, {TASKS * 4_000_000}, 1, {TASKS}) WHERE id % 400000 = 0"
"""Many tasks of seconds each; every one writes a few rows at its end."""
LONG_IDS = [number * 400_000 for number in range(TASKS * 10)]
TOO_MUCH = "SELECT size(sequence(1, 200000000 + id)) AS id FROM range(0, 2, 1, 2)"
"""More for one row than an executor has."""


@dataclass(frozen=True)
class Site:
    """A cluster, and a depot on a store that belongs to it."""

    master: str
    depot: Depot
    conf: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def place(self, name: str) -> Dataset:
        return table(name, self.depot.name)


@pytest.fixture(scope="module")
def standalone(store: S3Server, database: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    started = cluster.start(tmp_path_factory.mktemp("cluster"))
    depot = lakes.in_postgresql("clustered", "s3a://lake/clustered", database.port, store.spark_conf())
    yield Site(started.master, depot, {**CONF, "spark.cores.max": "2"})
    started.stop()


@pytest.fixture(scope="module")
def on_yarn(database: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if not yarn.has_compiler():
        pytest.skip("needs a JDK: Java here has no compiler")
    started = yarn.start(tmp_path_factory.mktemp("yarn"))
    depot = lakes.in_postgresql("yarned", f"{started.file_system}/warehouse", database.port)
    conf = {**CONF, "spark.executor.instances": "2", "spark.yarn.jars": f"local:{spark_home()}/jars/*"}
    yield Site("yarn", depot, conf, {"HADOOP_CONF_DIR": str(started.conf_dir)})
    started.stop()


@pytest.mark.parametrize("kind", ["standalone", *exhaustive("on_yarn")])
@pytest.mark.exhaustive
def test_a_cluster_with_two_workers(
    kind: str,
    request: pytest.FixtureRequest,
    database: PostgresServer,
    start_java: Callable[..., LiveEngine],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site: Site = request.getfixturevalue(kind)
    for name, value in site.environment.items():
        monkeypatch.setenv(name, value)
    metastore = database.url_of("metastore")

    def start(key: str) -> LiveEngine:
        settings = {"master": site.master, "conf": site.conf, "metastore": metastore}
        return start_java(site.depot, files_depot(tmp_path), key=key, secrets=(SECRET,), **settings)

    engine = start("first")
    application = engine.ready(600).application_id
    assert application.startswith("app")
    writes_tables_and_files(engine, site, tmp_path)
    assert len(executors(application)) == 2

    survives_the_death_of_an_executor(engine, site, application)
    says_that_an_executor_ran_out_of_memory(engine, site)

    # The driver dies in the middle of a job; whoever takes the run up writes every row once.
    attempt = engine.start_job(long_job(site), run=f"run-{kind}")
    await_tasks(attempt, 2)
    os.killpg(worker_of(engine), signal.SIGKILL)
    assert isinstance(attempt.answer(), EngineLost)
    with open_store(metastore) as ledger:
        end_leases(ledger, worker_of(engine))
    until(lambda: not executors(application))  # the cluster ends what nobody drives any more
    second = start("second")
    second.ready(600)  # YARN takes its time to free what a killed driver had
    [report] = second.run(long_job(site), run=f"run-{kind}", number=2)
    assert report.rows == len(LONG_IDS)
    assert ids(second, "long", site.depot.name) == sorted([*LONG_IDS, *LONG_IDS])  # with those of the lost executor
    check(second, "long", site.depot.name)


def long_job(site: Site) -> JobPlan:
    return writing(LONG, site.place("long"), name="long", mode="append")


def await_tasks(pending: Pending, count: int) -> None:
    """Wait until so many tasks of a job are done."""
    while pending.wait_for("progress").data["done"] < count:
        pass


def writes_tables_and_files(engine: LiveEngine, site: Site, root: Path) -> None:
    sql = "SELECT id, TIMESTAMP '{day}' AS ts, '{mark}' AS mark FROM range({start}, {end}, 1, 4)"
    spec = (by("month", "ts"), by("bucket", "id", 2))
    rows = {"first": ("2020-01-01", 0, 100), "more": ("2020-01-02", 100, 200), "other": ("2020-02-01", 200, 210)}
    for mark, (day, start, end) in rows.items():
        text = sql.format(mark=mark, day=day, start=start, end=end)
        [report] = engine.run(writing(text, site.place("t"), mode="append", partitions=spec))
        assert report.rows == end - start
    again = sql.format(mark="again", day="2020-01-01", start=0, end=100)
    engine.run(writing(again, site.place("t"), mode="overwrite-partitions", partitions=spec))
    where = f"{site.depot.name}.raw.t"
    marks = engine.rows(f"SELECT mark, count(*), count(DISTINCT id) FROM {where} GROUP BY mark ORDER BY mark")
    assert marks == [("again", 100, 100), ("other", 10, 10)]
    check(engine, "t", site.depot.name)
    [report] = engine.run(writing(again, files(root / "drop" / "d", "avro")))
    assert report.rows == 100


def survives_the_death_of_an_executor(engine: LiveEngine, site: Site, application: str) -> None:
    attempt = engine.start_job(long_job(site))
    await_tasks(attempt, 2)
    victim, *_ = executors(application)
    os.kill(victim, signal.SIGKILL)
    [report] = attempt.done()
    assert report.rows == len(LONG_IDS)
    assert ids(engine, "long", site.depot.name) == LONG_IDS
    assert victim not in executors(application)


def says_that_an_executor_ran_out_of_memory(engine: LiveEngine, site: Site) -> None:
    failed = engine.fail(writing(TOO_MUCH, site.place("u"), name="greedy"))
    # YARN lets Java kill itself as soon as memory is short, which may be before the task can say why it failed; and the
    # last failure of a task may be that it was sent to an executor that was ending.
    assert failed.code in ("out-of-memory", "executor-lost")
    assert "spark.executor.memory" in str(failed.hint)
    if failed.code == "out-of-memory":
        assert "512m (spark.executor.memory)" in failed.message
    [report] = engine.run(writing("SELECT 1 AS id", site.place("u")))
    assert report.rows == 1
