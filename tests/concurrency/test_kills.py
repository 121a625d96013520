"""Appends to tables whose engine is killed, stopped or not answered after the seal; the contract has every point."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import JobPlan
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import await_sleep, worker_of
from tests.ledgers import Filled, end_leases
from tests.spark.lake import LiveEngine, lake_depot, table, writing

Start = Callable[..., LiveEngine]


def appending(name: str, first: int, job: str) -> JobPlan:
    return writing(f"SELECT id FROM range({first}, {first + 10})", table(name), name=job, mode="append")


def killed(start: Start, root: Path, fault: str, job: JobPlan, run: str) -> None:
    """Run a job in an engine that dies at a point of the commit path; what it has leased ends by itself."""
    victim = start(lake_depot(root), key="victim", fault=f"{fault}:kill")
    assert isinstance(victim.start_job(job, run=run).answer(), EngineLost)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["sealed", "swap-applied"])
def test_killed_after_the_seal_another_writer_publishes_it_and_running_again_changes_nothing(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, point: str
) -> None:
    engine.run(appending(fresh, 0, "early"))
    killed(start_engine, root, point, appending(fresh, 10, "lost"), run=f"r-{fresh}")
    engine.run(appending(fresh, 20, "late"))
    assert ids(engine, fresh) == list(range(30))
    [report] = engine.run(appending(fresh, 10, "lost"), run=f"r-{fresh}", number=2)
    assert report.rows == 10
    assert ids(engine, fresh) == list(range(30))
    check(engine, fresh)


@pytest.mark.slow
def test_an_answer_lost_after_the_swap_is_no_second_write(root: Path, start_engine: Start, fresh: str) -> None:
    deaf = start_engine(lake_depot(root), key="deaf", fault="swap-applied:lose")
    [report] = deaf.run(appending(fresh, 0, "heard"))
    assert ids(deaf, fresh) == list(range(10))
    assert report.snapshot_id == deaf.value(f"SELECT string(snapshot_id) FROM lake.raw.{fresh}.snapshots")
    check(deaf, fresh)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["lease-taken", "manifest-list-written"])
def test_a_consolidator_that_slept_past_its_lease_publishes_nothing_twice(
    engine: LiveEngine, root: Path, start_engine: Start, filled: Filled, fresh: str, point: str
) -> None:
    engine.run(appending(fresh, 0, "early"))
    sleeper = start_engine(lake_depot(root), key="sleeper", fault=f"{point}:stop")
    sleeper.ready()
    sleeping = sleeper.start_job(appending(fresh, 10, "slept"), run=f"r-{fresh}")
    await_sleep(worker_of(sleeper))
    end_leases(filled.store, worker_of(sleeper))
    engine.run(appending(fresh, 20, "awake"))
    os.kill(worker_of(sleeper), signal.SIGCONT)
    assert sleeping.done()[0].rows == 10
    assert ids(engine, fresh) == list(range(30))
    check(engine, fresh)


def test_a_table_that_is_replaced_after_the_history_was_searched_takes_no_old_files(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str
) -> None:
    engine.run(appending(fresh, 0, "early"))
    sleeper = start_engine(lake_depot(root), key="sleeper", fault="history-searched:stop")
    sleeper.ready()
    sleeping = sleeper.start_job(appending(fresh, 10, "slept"))
    await_sleep(worker_of(sleeper))
    try:
        engine.ask(f"CREATE OR REPLACE TABLE lake.raw.{fresh} (id STRING) USING iceberg")
    finally:
        os.kill(worker_of(sleeper), signal.SIGCONT)
    assert sleeping.failed().code == "table-redefined"
    assert engine.rows(f"SELECT * FROM lake.raw.{fresh}") == []


@pytest.mark.slow
def test_a_consolidator_that_slept_after_it_searched_the_history_searches_it_again(
    engine: LiveEngine, root: Path, start_engine: Start, filled: Filled, fresh: str
) -> None:
    """Its write was tried before, and another engine has published it meanwhile and died before it could say so."""
    engine.run(appending(fresh, 0, "early"))
    lost, run = appending(fresh, 10, "lost"), f"r-{fresh}"
    killed(start_engine, root, "before-swap", lost, run=run)
    sleeper = start_engine(lake_depot(root), key="sleeper", fault="history-searched:stop")
    sleeper.ready()
    sleeping = sleeper.start_job(lost, run=run, number=2)
    await_sleep(worker_of(sleeper))
    end_leases(filled.store, worker_of(sleeper))
    try:
        killed(start_engine, root, "swap-applied", appending(fresh, 20, "awake"), run=f"s-{fresh}")
    finally:
        os.kill(worker_of(sleeper), signal.SIGCONT)
    assert sleeping.done()[0].rows == 10
    engine.recover(table(fresh))
    assert ids(engine, fresh) == list(range(30))
    check(engine, fresh)
