"""Schedulers and runs that are killed at every point: a tick has one run, with the tick's time, and it is finished."""

from __future__ import annotations

import random
import signal
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from catchment import project
from catchment.run.schedule.scheduled_workflows import read
from catchment.store import open_store
from catchment.store.ticks import Claim
from tests.concurrency.schedule.conftest import Project, wait_until
from tests.matrices import exhaustive

NEVER = "0 0 1 1 *"
DAILY = "0 0 * * *"
LAST_YEAR = datetime(2025, 3, 4, tzinfo=timezone.utc)


def claimed_by_a_ghost(flow: Project) -> None:
    """A tick that a scheduler had claimed before it vanished."""
    followed = read(flow.file)
    with open_store(followed.project.metastore) as store:
        store.ticks.follow("flow", followed.calendar.rule, time.time())
        store.ticks.claim(Claim("flow", LAST_YEAR.timestamp(), "ghost", "20250304-000000-aaaaaa"))


def held_up(flow: Project) -> Path:
    """A tick whose run goes on when the file that is returned comes into being."""
    go_on = flow.root / "go-on"
    flow.write(f"until {go_on}", cron=NEVER)
    claimed_by_a_ghost(flow)
    return go_on


def over(flow: Project) -> bool:
    return bool(flow.ticks()) and flow.ticks()[0].status in ("succeeded", "failed", "cancelled")


def test_killed_after_the_claim_the_tick_is_taken_over_with_its_own_time(flow: Project) -> None:
    flow.write("", cron=NEVER)
    claimed_by_a_ghost(flow)
    with flow.scheduler() as scheduler:
        wait_until(lambda: scheduler.settled, "the tick is over")
    assert flow.begun() == [("20250304-000000-aaaaaa", LAST_YEAR.isoformat())]
    assert "its scheduler ghost is dead" in scheduler.told
    assert (scheduler.settled[0]["status"], scheduler.settled[0]["starts"]) == ("succeeded", 1)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_killed_between_the_claim_and_the_start_of_the_run(flow: Project) -> None:
    flow.write("", cron="* * * * * *", concurrencyPolicy="Forbid")
    with flow.scheduler(fault="claimed") as first:
        assert first.ends() == -signal.SIGKILL
    (claimed,) = flow.ticks()
    assert (claimed.status, flow.begun()) == ("claimed", [])
    with flow.scheduler() as second:
        wait_until(lambda: over(flow), "the tick is taken over")
        second.signal(signal.SIGTERM)
        second.ends()
    tick = flow.ticks()[0]
    assert (tick.tick, tick.run_id, tick.status, tick.starts) == (claimed.tick, claimed.run_id, "succeeded", 2)
    assert flow.begun().count((str(tick.run_id), tick.tick.isoformat())) == 1


@pytest.mark.slow
def test_a_run_goes_on_when_its_scheduler_is_killed_and_is_not_started_again(flow: Project) -> None:
    go_on = held_up(flow)
    with flow.scheduler() as first:
        wait_until(flow.begun, "the run begins")
        first.signal(signal.SIGKILL)
        first.ends()
    with flow.scheduler() as second:
        wait_until(lambda: "has taken it over" in second.told, "the next scheduler has found it")
        go_on.touch()
        wait_until(lambda: second.settled, "the next scheduler sees its end")
    tick = flow.ticks()[0]
    assert (tick.status, tick.starts, tick.run_id) == ("succeeded", 1, second.settled[0]["run_id"])
    assert flow.begun().count((str(tick.run_id), tick.tick.isoformat())) == 1


@pytest.mark.slow
def test_a_run_that_is_killed_is_taken_up_by_its_scheduler(flow: Project) -> None:
    go_on = held_up(flow)
    with flow.scheduler() as scheduler:
        wait_until(flow.begun, "the run begins")
        flow.kill("tick")
        go_on.touch()
        wait_until(lambda: over(flow), "the run is over")
        assert "resuming run" in scheduler.told
    _taken_up(flow)


@pytest.mark.slow
def test_scheduler_and_run_killed_together(flow: Project) -> None:
    go_on = held_up(flow)
    with flow.scheduler() as first:
        wait_until(flow.begun, "the run begins")
        first.signal(signal.SIGKILL)
        flow.kill("tick")
    go_on.touch()
    with flow.scheduler():
        wait_until(lambda: over(flow), "the run is over")
    _taken_up(flow)


def _taken_up(flow: Project) -> None:
    """One run, two attempts of its job, both as of the tick."""
    tick = flow.ticks()[0]
    assert (tick.status, tick.starts) == ("succeeded", 2)
    assert flow.begun()[:2] == [(tick.run_id, tick.tick.isoformat())] * 2
    assert [line["number"] for line in flow.trace("begin")][:2] == [1, 2]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_run_that_dies_again_and_again_is_given_up(flow: Project) -> None:
    flow.write("", cron=NEVER)
    flow.file.with_suffix(".dies").touch()
    claimed_by_a_ghost(flow)
    with flow.scheduler(fault="run") as scheduler:
        wait_until(lambda: scheduler.settled, "the tick is given up")
    (tick,) = flow.ticks()
    assert tick.error
    assert (tick.status, tick.starts, tick.error.code, flow.begun()) == ("failed", 3, "run-died", [])


def behind(flow: Project, days: int) -> datetime:
    """As if the last scheduler had gone days ago; the midnight that it saw last."""
    midnight = datetime.now(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    last = midnight - timedelta(days=days)
    followed = read(flow.file)
    with open_store(followed.project.metastore) as store:
        store.ticks.follow("flow", followed.calendar.rule, last.timestamp())
    return last


def until_caught_up(flow: Project, ticks: int) -> list[tuple[str, str]]:
    with flow.scheduler(late=0.0) as scheduler:
        wait_until(lambda: len(scheduler.settled) >= ticks, "it has caught up")
        time.sleep(0.5)
    return flow.begun()


@pytest.mark.parametrize("policy", ["Forbid", *exhaustive("Allow", "Replace")])
@pytest.mark.slow
def test_every_missed_tick_is_made_up_for_one_after_the_other(flow: Project, policy: str) -> None:
    flow.write("sleep 0.3", cron=DAILY, catchup="all", concurrencyPolicy=policy)
    last = behind(flow, 3)
    times = [time for _, time in until_caught_up(flow, 3)]
    assert times[:3] == [(last + timedelta(days=n)).isoformat() for n in (1, 2, 3)]
    ended = [line["at"] for line in flow.trace("end")]
    assert all(end <= begin["at"] for end, begin in zip(ended, flow.trace("begin")[1:], strict=False))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_last_missed_tick_is_made_up_for(flow: Project) -> None:
    flow.write("", cron=DAILY, catchup="last")
    last = behind(flow, 3)
    assert until_caught_up(flow, 1)[0][1] == (last + timedelta(days=3)).isoformat()


def test_no_missed_tick_is_made_up_for_unless_asked(flow: Project) -> None:
    flow.write("", cron=DAILY)
    behind(flow, 3)
    with flow.scheduler(late=0.0) as scheduler:
        wait_until(lambda: "were missed and are not run (catchup: none)" in scheduler.told, "they are told")
        wait_until(lambda: _decided(flow) > time.time() - 60, "they are decided")
    assert (flow.begun(), flow.ticks()) == ([], [])


def _decided(flow: Project) -> float:
    with open_store(project.load(flow.root).metastore) as store:
        return store.ticks.follow("flow", read(flow.file).calendar.rule, 0.0)


def test_the_first_start_of_a_schedule_has_missed_nothing(flow: Project) -> None:
    flow.write("", cron=DAILY, catchup="all")
    started = datetime.now(timezone.utc)
    with flow.scheduler(late=0.0) as scheduler:
        wait_until(lambda: "next tick" in scheduler.told, "it has begun")
        wait_until(lambda: _decided(flow) >= started.timestamp() - 1, "it has decided what it missed")
    assert all(tick.tick > started for tick in flow.ticks())


@pytest.mark.slow
@pytest.mark.exhaustive
def test_whatever_is_killed_at_random_every_tick_has_one_run(flow: Project) -> None:
    flow.write("sleep 0.2", cron="*/2 * * * * *", concurrencyPolicy="Allow")
    draw = random.Random(6)
    for _ in range(6):
        with flow.scheduler(late=60.0) as one, flow.scheduler(late=60.0) as two:
            wait_until(lambda: "next tick" in one.told and "next tick" in two.told, "both follow it")
            for _ in range(5):
                time.sleep(draw.uniform(0.5, 2.0))
                flow.kill("tick")
    flow.write("", cron=NEVER)
    with flow.scheduler() as last:
        wait_until(lambda: all(tick.status in ("succeeded", "failed") for tick in flow.ticks()), "all are settled")
        last.signal(signal.SIGTERM)
        last.ends()
    of_run = dict(flow.begun())
    ticks = {tick.run_id: tick for tick in flow.ticks()}
    assert len(ticks) > 10
    assert all(ticks[run].tick.isoformat() == time for run, time in flow.begun())
    assert len(set(of_run.values())) == len(of_run), "two runs of one tick"
    assert {tick.error.code for tick in ticks.values() if tick.error} <= {"run-died"}
