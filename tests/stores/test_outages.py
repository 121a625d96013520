"""Servers that are stopped while many write, and started again: the writers wait, and every row is there once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment.plan.model import Dataset, JobPlan
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import sleep_until, until
from tests.servers import postgres
from tests.servers.gate import Gate
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3Server
from tests.servers.wire import Wire
from tests.spark.lake import table, writing
from tests.stores import lakes
from tests.stores.lakes import Lake, appending

FOR_EVER = 600.0
OUTAGES = pytest.mark.parametrize("seconds", [0, pytest.param(60, marks=pytest.mark.exhaustive)])
"""How long a server is away, at least: until all have noticed, or as long as restarts may take."""
pytestmark = pytest.mark.slow


@pytest.fixture
def running_again(store: S3Server, gate: Gate) -> Iterator[S3Server]:
    """The S3 server; whatever a test does to it, it runs again for the next one."""
    yield store
    gate.open()
    if store.process.poll() is not None:
        store.start()


@OUTAGES
def test_eight_writers_wait_for_a_store_that_is_stopped(
    on_s3: Lake, gate: Gate, running_again: S3Server, fresh: str, seconds: int
) -> None:
    # Every writer puts at least one object whose name tells whose it is.
    targets = [table(fresh, "gated")] * 4 + [delta(f"{fresh}x{n}") for n in (4, 5)] + [parquet(fresh)] * 2
    jobs = [numbered(target, n) for n, target in enumerate(targets)]
    marks = [f"{fresh}x{n}/" if target.format == "delta" else f"during-{n}" for n, target in enumerate(targets)]
    on_s3.here.run(appending(fresh, 100, "before", "gated"))

    gate.close("hold", at=r"PUT .*\.parquet", seconds=FOR_EVER, only=True)
    pending = [(on_s3.here, on_s3.there)[n % 2].start_job(job) for n, job in enumerate(jobs)]
    await_all(gate, marks)  # each is in the middle of a file
    running_again.stop()
    stopped = time.monotonic()
    gate.open()
    await_all(gate, marks)  # the server is gone, and each has been told so
    sleep_until(stopped + seconds)
    assert not any(each.is_answered() for each in pending)
    running_again.start()

    assert [each.done()[0].rows for each in pending] == [10] * 8
    assert ids(on_s3.there, fresh, "gated") == [*range(40), *range(100, 110)]
    check(on_s3.there, fresh, "gated")
    for n in (4, 5):
        assert found(on_s3, delta(f"{fresh}x{n}").identifier) == list(range(10 * n, 10 * n + 10))
    assert found(on_s3, f"parquet.`{parquet(fresh).path}`") == list(range(60, 80))


def delta(name: str) -> Dataset:
    place = f"s3a://gated/events/raw/{name}"
    return Dataset(f"dataos://gated-events:raw/{name}", "gated-events", "delta", "raw", name, place)


def parquet(name: str) -> Dataset:
    return Dataset(f"dataos://gated-drop:none/{name}", "gated-drop", "parquet", path=f"s3a://gated/drop/{name}")


def numbered(target: Dataset, number: int) -> JobPlan:
    sql = f"SELECT id FROM range({10 * number}, {10 * number + 10}, 1, 1)"
    return writing(sql, target, name=f"during-{number}", mode="append")


def found(lake: Lake, relation: str) -> list[int]:
    return [row[0] for row in lake.there.rows(f"SELECT id FROM {relation} ORDER BY id")]


def await_all(gate: Gate, marks: list[str]) -> None:
    """Wait until a request of each writer was held or refused."""
    until(lambda: all(any(mark in request for request in tuple(gate.refused)) for mark in marks))


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server for a catalog alone, or for a metastore alone: the other one is elsewhere."""
    running = postgres.start()
    yield running
    running.stop()


@OUTAGES
def test_writers_wait_for_a_catalog_that_is_stopped(
    on_s3: Lake, store: S3Server, server: PostgresServer, fresh: str, tmp_path: Path, seconds: int
) -> None:
    depot = lakes.in_postgresql("stopped", "s3a://lake/stopped", server.port)
    metastore = f"sqlite:///{tmp_path}/metastore.db"
    with lakes.beside(on_s3, metastore, store.data, tmp_path / "logs", depot) as lake:
        engines = (lake.here, lake.there)
        for n, engine in enumerate(engines):
            engine.run(appending(fresh, 10 * n, f"before-{n}", "stopped"))
        server.pause()
        stopped = time.monotonic()
        try:
            pending = [engines[n % 2].start_job(appending(fresh, 10 * n, f"job-{n}", "stopped")) for n in range(2, 6)]
            told = [each.wait_for("warning").data["message"] for each in pending]
            assert all("the catalog of stopped cannot be reached" in message for message in told)
            sleep_until(stopped + seconds)
            assert not any(each.is_answered() for each in pending)
        finally:
            server.start()
        assert [each.done()[0].rows for each in pending] == [10] * 4
        assert ids(lake.there, fresh, "stopped") == list(range(60))
        check(lake.there, fresh, "stopped")


@pytest.mark.parametrize("seconds", [0, pytest.param(45, marks=pytest.mark.exhaustive)])
def test_eight_writers_wait_for_a_metastore_that_is_stopped(
    on_s3: Lake, store: S3Server, gate: Gate, server: PostgresServer, fresh: str, tmp_path: Path, seconds: int
) -> None:
    wire = Wire(server.port)
    url = f"postgresql://postgres@127.0.0.1:{wire.port}/postgres"
    jobs = [numbered(table(fresh, "gated"), n) for n in range(8)]
    with lakes.beside(on_s3, url, store.data, tmp_path / "logs", on_s3.depot("gated")) as lake:
        gate.close("hold", at=r"PUT .*\.parquet", seconds=FOR_EVER, only=True)
        try:
            pending = [(lake.here, lake.there)[n % 2].start_job(job) for n, job in enumerate(jobs)]
            await_all(gate, [job.name for job in jobs])  # each is in the middle of a file, which is to be sealed next
            server.pause()
            stopped, known = time.monotonic(), wire.connections
        finally:
            gate.open()
        until(lambda: wire.connections >= known + len(jobs))  # they ask again and again
        sleep_until(stopped + seconds)
        assert not any(each.is_answered() for each in pending)
        server.start()
        assert [each.done()[0].rows for each in pending] == [10] * 8
        assert ids(lake.there, fresh, "gated") == list(range(80))
        check(lake.there, fresh, "gated")
    wire.stop()
