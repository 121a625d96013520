"""Incremental jobs whose engine is killed at every point: every row once, whoever finishes the window."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catchment.errors import EngineLost, RequestError
from catchment.project.loading import load
from catchment.run import incremental_state
from catchment.store.states import State
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import await_sleep, worker_of
from tests.ledgers import Filled, end_leases
from tests.matrices import exhaustive
from tests.spark.lake import LiveEngine, lake_depot
from tests.spark.test_incremental import arrive, reading_job, state, told

Start = Callable[..., LiveEngine]

BEFORE = ("window-opened", "before-data-written", "data-written", "before-sealed")
SEALED = ("sealed", "lease-taken", "manifest-list-written", "before-swap", "swap-applied", "before-marked")
COMMITTED = ("marked", "before-state-moved")
MOVED = ("state-moved",)
POINTS = ("window-opened", "sealed", "before-state-moved")
"""One of each kind; `test_incremental_seed` meets every one of them."""


def kill_at(point: str, start: Start, root: Path, filled: Filled, name: str, run: str, windows: int = 1) -> None:
    victim = start(lake_depot(root), key="victim", fault=f"{point}:kill")
    assert isinstance(victim.start_job(reading_job(name), run=run, windows=windows).answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.slow
def test_the_next_run_finishes_what_was_begun(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, filled: Filled, point: str
) -> None:
    arrive(engine, fresh, 1, 25)
    engine.run(reading_job(fresh))
    kill_at(point, start_engine, root, filled, fresh, run=f"r-{fresh}")
    assert state(filled, fresh) == {"start": "20" if point in MOVED else "10"}
    arrive(engine, fresh, 11, 12)  # what comes into a window that was committed is too late for it
    pending = engine.start_job(reading_job(fresh))
    [report] = pending.done()
    late = [11, 12] if point in BEFORE else []
    # What was sealed is not read again, only finished. Of what was committed the state alone is left to be moved.
    committed = point in (*COMMITTED, *MOVED)
    assert (report.rows, state(filled, fresh)) == (
        (5, {"start": "30"}) if committed else (10 + len(late), {"start": "20"})
    )
    assert bool(told(pending, "window")) == committed
    engine.run(reading_job(fresh))
    assert ids(engine, fresh) == sorted([*range(1, 26), *late])
    engine.run(reading_job(fresh), run=f"r-{fresh}", number=2)  # whoever resumes the run that died changes nothing
    assert ids(engine, fresh) == sorted([*range(1, 26), *late])
    assert {each.status for each in filled.store.states.windows("workflow", fresh)} == {"done"}
    check(engine, fresh)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["window-opened", "sealed"])
@pytest.mark.exhaustive
def test_resuming_the_run_that_died_takes_one_window(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, filled: Filled, point: str
) -> None:
    arrive(engine, fresh, 1, 25)
    kill_at(point, start_engine, root, filled, fresh, run=f"r-{fresh}")
    [report] = engine.run(reading_job(fresh), run=f"r-{fresh}", number=2)
    assert (report.rows, state(filled, fresh)) == (10, {"start": "10"})
    assert ids(engine, fresh) == list(range(1, 11))


@pytest.mark.slow
@pytest.mark.parametrize("point", ["sealed", *exhaustive("state-moved")])
def test_resuming_a_run_of_several_windows_takes_those_that_are_left(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, filled: Filled, point: str
) -> None:
    arrive(engine, fresh, 1, 45)
    kill_at(point, start_engine, root, filled, fresh, run=f"r-{fresh}", windows=3)
    engine.run(reading_job(fresh), run=f"r-{fresh}", number=2, windows=3)
    assert (ids(engine, fresh), state(filled, fresh)) == (list(range(1, 31)), {"start": "30"})
    check(engine, fresh)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["before-sealed", "before-state-moved"])
def test_one_that_was_taken_for_dead_and_comes_back_changes_nothing(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, filled: Filled, point: str
) -> None:
    arrive(engine, fresh, 1, 25)
    sleeper = start_engine(lake_depot(root), key="sleeper", fault=f"{point}:stop")
    sleeper.ready()
    asleep = sleeper.start_job(reading_job(fresh), run=f"r-{fresh}")
    worker = worker_of(sleeper)
    await_sleep(worker)
    end_leases(filled.store, worker)
    for _ in range(3):
        engine.run(reading_job(fresh))
    os.kill(worker, signal.SIGCONT)
    asleep.answer()
    assert ids(engine, fresh) == list(range(1, 26))
    assert state(filled, fresh) == {"start": "30"}
    check(engine, fresh)


@pytest.mark.slow
def test_a_window_that_is_sealed_is_not_dropped_and_one_that_is_open_cannot_come_back(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, filled: Filled
) -> None:
    project = replace(load(root), metastore=f"sqlite:///{root}/metastore.db")
    arrive(engine, fresh, 1, 25)
    kill_at("sealed", start_engine, root, filled, fresh, run=f"r-{fresh}")
    with pytest.raises(RequestError) as caught:
        incremental_state.set_keys(project, State("workflow", fresh, "source", {"start": "0"}, ""), dry_run=False)
    assert caught.value.code == "window-sealed"
    engine.run(reading_job(fresh))
    kill_at("before-sealed", start_engine, root, filled, fresh, run=f"s-{fresh}")
    [change] = incremental_state.set_keys(
        project, State("workflow", fresh, "source", {"start": "20"}, ""), dry_run=False
    )
    assert (change.before, change.after, change.dropped) == ({"start": "10"}, {"start": "20"}, 1)
    assert filled.find(f"s-{fresh}/{fresh}/out").state == "abandoned"
    engine.run(reading_job(fresh))
    assert ids(engine, fresh) == [*range(1, 11), *range(21, 26)]
