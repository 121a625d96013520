"""Paimon tables on S3 and in every catalog: two engines write at once, one is killed, nothing is there twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from catchment.engine.protocol import Facts
from catchment.errors import EngineLost
from catchment.plan.model import Dataset, Rewrite
from catchment.project.model import Catalog, Depot
from catchment.store import open_store
from tests.concurrency.waiting import await_sleep, until, worker_of
from tests.ledgers import end_leases
from tests.matrices import exhaustive
from tests.servers import hive
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import SECRET, S3Server
from tests.spark.hosts import Host
from tests.spark.lake import UNPREPARED, engine_plan, maintaining
from tests.spark.paimon.jobs import appending, ids

JOBS = 6
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ponds(store: S3Server, database: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """An engine on one depot for each catalog; all tables are on S3, except those of the Hive metastore."""
    root = tmp_path_factory.mktemp("ponds")
    server = hive.start(root)
    uri = f"jdbc:postgresql://127.0.0.1:{database.port}/postgres"
    depots = (
        Depot("plain", "paimon", "s3a://lake/plain", Catalog("filesystem"), store.spark_conf()),
        Depot("locked", "paimon", "s3a://lake/locked", Catalog("jdbc", database=str(root / "locked.db"))),
        Depot("shared", "paimon", "s3a://lake/shared", Catalog("jdbc", uri, properties={"jdbc.user": "postgres"})),
        Depot("named", "paimon", str(root / "tables"), Catalog("hive", server.uri)),
    )
    plan = engine_plan(*depots, metastore=f"sqlite:///{root}/metastore.db", conf=UNPREPARED, spark="3.5")
    host = Host(plan, root / "logs", (SECRET,))
    host.ready(patience=280)
    yield host
    host.process.stop(grace=5)
    server.stop()


@pytest.mark.parametrize("depot", ["locked", "named", *exhaustive("plain", "shared")])
def test_two_engines_write_at_once_and_a_third_is_killed(ponds: Host, depot: str, tmp_path: Path) -> None:
    target = Dataset(f"dataos://{depot}:raw/t", depot, "paimon", "raw", "t")
    there = ponds.guest(replace(ponds.plan, key="there"), tmp_path / "there", (SECRET,))
    sent = [(ponds, there)[n % 2].start_job(appending(target, 5 * n, f"j{n}")) for n in range(JOBS)]
    assert [pending.done()[0].rows for pending in sent] == [5] * JOBS
    plan = replace(ponds.plan, key="victim", envs={"CATCHMENT_FAULT": "swap-applied:kill"})
    victim = ponds.guest(plan, tmp_path / "victim", (SECRET,))
    last = appending(target, 5 * JOBS, "last")
    assert isinstance(victim.start_job(last, run="r").answer(), EngineLost)
    with open_store(ponds.plan.metastore) as opened:
        end_leases(opened, worker_of(victim))
    assert ponds.run(last, run="r", number=2)[0].rows == 5
    assert ids(ponds, target) == list(range(5 * (JOBS + 1)))
    there.process.stop(grace=5)


@pytest.mark.exhaustive
def test_a_compaction_takes_the_lease_for_its_swap_alone(ponds: Host, store: S3Server, tmp_path: Path) -> None:
    target = Dataset("dataos://plain:raw/small", "plain", "paimon", "raw", "small")
    for number in range(4):
        ponds.run(appending(target, 5 * number))
    place = ponds.inspect("table", target)["location"]
    with open_store(ponds.plan.metastore) as opened:
        many = _data_files(store, place)
        lease = opened.leases.acquire(f"table/{place}", "a writer who takes his time", 600.0)
        waiting = ponds.start_maintenance(target, Rewrite())
        until(lambda: _data_files(store, place) > many)  # it rewrites while others may commit
        assert not waiting.is_answered()
        opened.leases.release(lease)
        assert isinstance(waiting.answer(), Facts)
        assert ponds.health(target).files == 1
        for fault in ("before-swap", "swap-applied"):
            ponds.run(appending(target, 20))
            plan = replace(ponds.plan, key="victim", envs={"CATCHMENT_FAULT": f"{fault}:kill"})
            victim = ponds.guest(plan, tmp_path / fault, (SECRET,))
            assert isinstance(victim.start_job(maintaining(target, Rewrite()), run=fault).answer(), EngineLost)
            end_leases(opened, worker_of(victim))
            ponds.maintain(target, Rewrite())
            assert ponds.health(target).files == 1
    assert ids(ponds, target) == sorted([*range(25), *range(20, 25)])


def _data_files(store: S3Server, place: str) -> int:
    return len(list((store.data / place.partition("://")[2]).rglob("data-*")))


def _write_elsewhere(ponds: Host, target: Dataset, root: Path) -> None:
    plan = replace(ponds.plan, key="elsewhere", metastore=f"sqlite:///{root}/metastore.db")
    stranger = ponds.guest(plan, root / "elsewhere", (SECRET,))
    stranger.run(appending(target, 10))
    stranger.process.stop(grace=5)


def _insert(ponds: Host, target: Dataset, root: Path) -> None:
    ponds.ask(f"INSERT INTO {target.identifier} SELECT id FROM range(10, 15)")


def _sort(ponds: Host, target: Dataset, root: Path) -> None:
    assert ponds.maintain(target, Rewrite("sort", "id"))["rewritten_files"]


@pytest.mark.parametrize(
    ("intrude", "is_rival"),
    [(_write_elsewhere, True), (_insert, True), (_sort, False)],
    ids=["another metastore", "another program", "our own sort"],
)
def test_a_second_writer_is_noticed_where_nothing_else_keeps_the_two_apart(
    ponds: Host, tmp_path: Path, intrude: Callable[[Host, Dataset, Path], None], *, is_rival: bool
) -> None:
    target = Dataset(f"dataos://plain:raw/two{intrude.__name__}", "plain", "paimon", "raw", f"two{intrude.__name__}")
    ponds.run(appending(target, 0))
    plan = replace(ponds.plan, key="sleeper", envs={"CATCHMENT_FAULT": "before-sealed:stop"})
    sleeper = ponds.guest(plan, tmp_path / "sleeper", (SECRET,))
    sleeper.ready()
    slow = sleeper.start_job(appending(target, 5))
    await_sleep(worker_of(sleeper))
    intrude(ponds, target, tmp_path)
    os.kill(worker_of(sleeper), signal.SIGCONT)
    if is_rival:
        refused = slow.failed()
        assert (refused.code, refused.retryable) == ("unguarded-table", True)
    else:
        slow.done()
    there = [*range(5), *(range(10, 15) if is_rival else range(5, 10))]
    assert ids(ponds, target) == there
    ponds.run(appending(target, 20))  # nobody else has written since this one began
    assert ids(ponds, target) == [*there, *range(20, 25)]
    sleeper.process.stop(grace=5)
