"""An engine killed at every point of the commit path: what it sealed is there once, what it did not is not."""

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
from tests.spark.lake import LiveEngine, by, lake_depot, table, writing

Start = Callable[..., LiveEngine]

BEFORE_SEAL = ("before-data-written", "data-written", "before-sealed")
AFTER_SEAL = (
    "sealed",
    "lease-taken",
    "manifest-list-written",
    "before-swap",
    "swap-applied",
    "before-marked",
    "marked",
)
QUICK = {"before-sealed", "sealed", "swap-applied"}
"""The points of the plain suite; the whole matrix takes minutes."""


def points(*names: str) -> list[object]:
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in names]


def appending(name: str, first: int, job: str) -> JobPlan:
    return writing(f"SELECT id FROM range({first}, {first + 10})", table(name), name=job, mode="append")


def killed(start: Start, root: Path, fault: str, job: JobPlan, run: str) -> None:
    """Run a job in an engine that dies at a point of the commit path."""
    victim = start(lake_depot(root), key="victim", fault=f"{fault}:kill")
    assert isinstance(victim.start_job(job, run=run).answer(), EngineLost)


@pytest.mark.parametrize("point", points(*BEFORE_SEAL))
def test_killed_before_the_seal_nothing_is_there_until_the_job_runs_again(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, point: str
) -> None:
    engine.run(appending(fresh, 0, "early"))
    killed(start_engine, root, point, appending(fresh, 10, "lost"), run=f"r-{fresh}")
    engine.run(appending(fresh, 20, "late"))
    assert ids(engine, fresh) == [*range(10), *range(20, 30)]
    engine.run(appending(fresh, 10, "lost"), run=f"r-{fresh}", number=2)
    assert ids(engine, fresh) == list(range(30))
    check(engine, fresh)


@pytest.mark.parametrize("point", points(*AFTER_SEAL))
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
@pytest.mark.parametrize("point", ["sealed", "manifest-list-written", "swap-applied"])
def test_an_overwrite_killed_after_its_seal_replaces_its_partitions_once(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, point: str
) -> None:
    def replacing(mark: str, parts: str) -> JobPlan:
        sql = f"SELECT id, '{mark}' AS mark, id % 3 AS part FROM range(9) WHERE id % 3 IN ({parts})"
        spec = (by("identity", "part"),)
        return writing(sql, table(fresh), name=mark, mode="overwrite-partitions", partitions=spec)

    engine.run(replacing("old", "0, 1, 2"))
    killed(start_engine, root, point, replacing("new", "1"), run=f"r-{fresh}")
    engine.run(replacing("other", "2"))
    engine.run(replacing("new", "1"), run=f"r-{fresh}", number=2)
    found = engine.rows(f"SELECT part, mark, count(*) FROM lake.raw.{fresh} GROUP BY ALL ORDER BY ALL")
    assert found == [(0, "old", 3), (1, "new", 3), (2, "other", 3)]
    check(engine, fresh)


def test_an_answer_lost_after_the_swap_is_no_second_write(root: Path, start_engine: Start, fresh: str) -> None:
    deaf = start_engine(lake_depot(root), key="deaf", fault="swap-applied:lose")
    [report] = deaf.run(appending(fresh, 0, "heard"))
    assert ids(deaf, fresh) == list(range(10))
    assert report.snapshot_id == deaf.value(f"SELECT snapshot_id FROM lake.raw.{fresh}.snapshots")
    check(deaf, fresh)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["lease-taken", "manifest-list-written"])
def test_a_consolidator_that_slept_past_its_lease_publishes_nothing_twice(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, point: str
) -> None:
    engine.run(appending(fresh, 0, "early"))
    sleeper = start_engine(lake_depot(root), key="sleeper", fault=f"{point}:stop")
    sleeper.ready()
    sleeping = sleeper.start_job(appending(fresh, 10, "slept"), run=f"r-{fresh}")
    await_sleep(worker_of(sleeper))
    engine.run(appending(fresh, 20, "awake"))
    os.kill(worker_of(sleeper), signal.SIGCONT)
    assert sleeping.done()[0].rows == 10
    assert ids(engine, fresh) == list(range(30))
    check(engine, fresh)
