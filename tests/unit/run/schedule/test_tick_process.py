"""The run of one tick: begun once, taken up, called off, ended with its schedule; in this process, engines scripted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from catchment.errors import LeaseHeld, LeaseLost, RequestError
from catchment.events.hub import Event
from catchment.run import Run
from catchment.run.run_options import RunOptions
from catchment.run.schedule.tick_process import ENDED, run_tick
from catchment.store import Store, open_store
from catchment.store.records import TickRecord
from catchment.store.runs import lease_name
from catchment.store.ticks import Claim
from tests.concurrency.waiting import until
from tests.unit.run.conftest import QUICK, Lab, Recorder, job, launch

TICK = datetime(2026, 5, 4, 3, tzinfo=timezone.utc)
RUN = "20260504-030000-aaaaaa"


@pytest.fixture
def store(lab: Lab) -> Iterator[Store]:
    with open_store(lab.project.metastore) as store:
        store.ticks.follow("flow", "0 3 * * * UTC", 0.0)
        store.ticks.claim(Claim("flow", TICK.timestamp(), "me", RUN))
        yield store


def carry_out(lab: Lab, script: str = "", end: datetime | None = None) -> Run | None:
    options = RunOptions(None, (), threading.Event(), launch, QUICK)
    return run_tick(TICK, lab.plan(job("a", script)), lab.project, options, end)


def tick(store: Store) -> TickRecord:
    found = store.ticks.find("flow", TICK.timestamp())
    assert found
    return found


def soon(seconds: float) -> datetime:
    return datetime.now(timezone.utc) + timedelta(seconds=seconds)


def test_the_run_has_the_id_of_the_claim_and_the_time_of_the_tick(lab: Lab, store: Store) -> None:
    result = carry_out(lab)
    assert result
    assert (result.run_id, result.status, tick(store).status) == (RUN, "succeeded", "succeeded")
    assert [line["reference_time"] for line in lab.trace("begin")] == [TICK.isoformat()]


def test_a_run_that_has_come_to_its_end_is_not_begun_again(lab: Lab, store: Store) -> None:
    first = carry_out(lab, "fail job")
    again = carry_out(lab)
    assert first
    assert again
    assert (again.run_id, again.status) == (first.run_id, "failed")
    assert len(lab.trace("begin")) == 1


def test_whoever_reads_along_and_stands_still_keeps_no_lease(lab: Lab, store: Store) -> None:
    goes_on = threading.Event()

    class StandsStill(Recorder):
        def emit(self, event: Event) -> None:
            goes_on.wait()

    options = RunOptions(None, [StandsStill()], threading.Event(), launch, QUICK)
    with ThreadPoolExecutor(1) as thread:
        try:
            running = thread.submit(run_tick, TICK, lab.plan(job("a")), lab.project, options)
            until(lambda: tick(store).settled and store.leases.holder(lease_name(RUN)) is None)
            assert not running.done()
        finally:
            goes_on.set()
    assert running.result()


def test_only_one_process_is_at_it(lab: Lab, store: Store) -> None:
    store.leases.acquire(lease_name(RUN), "somebody", 600.0)
    with pytest.raises(LeaseHeld):
        carry_out(lab)
    assert lab.trace("start") == []


def test_a_run_that_is_asked_to_stop_is_cancelled(lab: Lab, store: Store) -> None:
    def ask() -> None:
        while not lab.trace("begin"):
            time.sleep(0.02)
        store.ticks.ask(tick(store), "enough")

    thread = threading.Thread(target=ask)
    thread.start()
    result = carry_out(lab, "hang")
    thread.join()
    assert result
    assert (result.status, tick(store).status, tick(store).reason) == ("cancelled", "cancelled", "enough")


def test_a_run_that_was_asked_to_stop_before_it_began_does_not_begin(lab: Lab, store: Store) -> None:
    store.ticks.ask(tick(store), "enough")
    assert carry_out(lab) is None
    assert (tick(store).status, tick(store).reason, lab.trace("start")) == ("cancelled", "enough", [])


def test_a_run_in_progress_is_ended_when_its_schedule_ends(lab: Lab, store: Store) -> None:
    result = carry_out(lab, "hang", soon(3.0))
    assert result
    assert (result.status, tick(store).status, tick(store).reason) == ("cancelled", "cancelled", ENDED)
    assert len(lab.trace("end")) == 1


def test_a_run_does_not_begin_after_the_end_of_its_schedule(lab: Lab, store: Store) -> None:
    assert carry_out(lab, "", soon(-1.0)) is None
    assert (tick(store).status, tick(store).reason) == ("cancelled", ENDED)
    assert carry_out(lab) is None, "it is settled"


def test_a_job_with_side_effects_is_not_repeated_by_the_scheduler(lab: Lab, store: Store) -> None:
    def perform(script: str, *sinks: Recorder) -> Run | None:
        options = RunOptions(None, sinks, threading.Event(), launch, replace(QUICK, lease=0.4))
        return run_tick(TICK, lab.plan(replace(job("a", script), side_effects=True)), lab.project, options)

    class TakesOver(Recorder):
        def emit(self, event: Event) -> None:
            if event.kind == "job-started":
                leases("owner = 'you', fence = fence + 1")

    def leases(change: str) -> None:
        with store.database.writing() as connection:
            connection.exec_driver_sql(f"UPDATE leases SET {change}")

    with pytest.raises(LeaseLost):
        perform("hang", TakesOver())
    leases("expires = 0")
    again, found = perform(""), tick(store)
    assert again
    assert (again.status, found.status, len(lab.trace("begin"))) == ("failed", "failed", 1)
    assert (found.error or {})["code"] == "side-effects-interrupted"


def test_a_tick_that_nobody_claimed_has_no_run(lab: Lab) -> None:
    with pytest.raises(RequestError) as caught:
        carry_out(lab)
    assert caught.value.code == "tick-not-found"
