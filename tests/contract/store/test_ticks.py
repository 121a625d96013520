"""Ticks: one of all who try claims each; what it came to is what its run came to; policies hold between processes."""

from __future__ import annotations

from dataclasses import replace
from multiprocessing.synchronize import Barrier

import pytest

from catchment.errors import LeaseLost
from catchment.run_model import RunRequest
from catchment.store import Progress, Store, open_store
from catchment.store.records import TickRecord
from catchment.store.runs import lease_name
from catchment.store.ticks import Claim, scheduler_lease
from tests.contract.store.processes import answers_of

FIRST = Claim("w", 1000.0, "me", "r1")
SECOND = Claim("w", 2000.0, "me", "r2")
ERROR = {"code": "invalid-files", "message": "2 problems found"}
TICKS = 20
RULE = "* * * * * UTC"


@pytest.fixture(autouse=True)
def followed(store: Store) -> None:
    for workflow in ("v", "w"):
        store.ticks.follow(workflow, RULE, 500.0)


def _run(store: Store, run_id: str = "r1", *, seconds: float = 600.0) -> Progress:
    progress = store.progress(store.leases.acquire(lease_name(run_id), "runner", seconds), run_id)
    progress.begin(RunRequest("2024"), workflow="w", file="w.yaml", job_names=["a"], at=100.0)
    return progress


def _tick(store: Store, claim: Claim = FIRST) -> TickRecord:
    found = store.ticks.find(claim.workflow, claim.tick)
    assert found
    return found


def test_a_tick_is_claimed_once(store: Store) -> None:
    assert store.ticks.claim(FIRST) == "claimed"
    assert store.ticks.claim(replace(FIRST, owner="you", run_id="r9")) == "taken"
    tick = _tick(store)
    assert (tick.owner, tick.run_id, tick.status, tick.tries, tick.settled) == ("me", "r1", "claimed", 0, False)
    assert store.ticks.claim(replace(FIRST, workflow="v")) == "claimed"
    assert store.ticks.find("w", 1001.0) is None


def test_a_tick_that_replaces_asks_nobody_whose_run_is_over(store: Store) -> None:
    store.ticks.claim(FIRST)
    _run(store).finish("succeeded", 107.5)
    assert store.ticks.claim(SECOND) == "claimed"
    assert store.ticks.claim(Claim("w", 3000.0, "me", "r3", "replace")) == "busy"
    assert (_tick(store).asked, _tick(store, SECOND).asked) == (None, "a later tick takes its place")


def test_what_a_tick_came_to_is_what_its_run_came_to(store: Store) -> None:
    store.ticks.claim(FIRST)
    progress = _run(store)
    assert (_tick(store).status, _tick(store).run_alive) == ("running", True)
    progress.finish("succeeded", 107.5)
    assert (_tick(store).status, _tick(store).settled, _tick(store).seconds) == ("succeeded", True, 7.5)
    assert store.ticks.unsettled(["w"]) == []


def test_a_tick_whose_run_lost_its_lease_is_dead_and_not_settled(store: Store) -> None:
    store.ticks.claim(FIRST)
    _run(store, seconds=0.0)
    assert [(tick.key, tick.status) for tick in store.ticks.unsettled(["w", "v"])] == [(("w", 1000.0), "dead")]
    assert store.ticks.unsettled(["v"]) == []


def test_ticks_may_overlap_where_they_are_allowed_to(store: Store) -> None:
    store.ticks.claim(FIRST)
    assert store.ticks.claim(SECOND) == "claimed"
    assert [tick.tick for tick in store.ticks.unsettled(["w"])] == [1000.0, 2000.0]


def test_a_tick_is_skipped_while_an_earlier_one_is_not_over(store: Store) -> None:
    store.ticks.claim(FIRST)
    assert store.ticks.claim(replace(SECOND, while_busy="skip")) == "skipped"
    tick = _tick(store, SECOND)
    assert (tick.status, tick.settled, tick.run_id) == ("skipped", True, None)
    assert tick.reason == "run r1 of an earlier tick is not over"
    _run(store).finish("failed", 101.0)
    assert store.ticks.claim(Claim("w", 3000.0, "me", "r3", "skip")) == "claimed"


def test_a_tick_that_waits_is_not_claimed_and_asks_nobody_to_stop(store: Store) -> None:
    store.ticks.claim(FIRST)
    assert store.ticks.claim(replace(SECOND, while_busy="wait")) == "busy"
    assert store.ticks.find("w", 2000.0) is None
    assert _tick(store).asked is None


def test_a_tick_that_replaces_asks_the_others_to_stop_and_begins_when_they_have(store: Store) -> None:
    store.ticks.claim(FIRST)
    progress = _run(store)
    takes = replace(SECOND, while_busy="replace", owner="you")
    assert store.ticks.claim(takes) == "busy"
    assert _tick(store).asked == "a later tick takes its place"
    progress.finish("cancelled", 101.0)
    assert store.ticks.claim(takes) == "claimed"
    assert (_tick(store).status, _tick(store).reason) == ("cancelled", "a later tick takes its place")
    assert _tick(store, SECOND).asked is None


def test_only_the_run_that_is_meant_is_asked_to_stop(store: Store) -> None:
    store.ticks.claim(FIRST)
    store.ticks.claim(SECOND)
    store.ticks.ask(_tick(store), "enough")
    store.ticks.ask(_tick(store), "more than enough")
    assert (_tick(store).asked, _tick(store, SECOND).asked) == ("enough", None)


def test_a_tick_can_be_dropped_unless_somebody_has_it(store: Store) -> None:
    assert store.ticks.drop(FIRST, "too late")
    assert not store.ticks.drop(FIRST, "too late")
    assert (_tick(store).status, _tick(store).reason) == ("skipped", "too late")


def test_a_schedule_is_followed_from_its_first_start_and_then_from_its_last_tick(store: Store) -> None:
    assert store.ticks.follow("w", RULE, 700.0) == 500.0
    store.ticks.claim(SECOND)
    store.ticks.claim(FIRST)
    assert store.ticks.follow("w", RULE, 9000.0) == 2000.0
    store.ticks.pass_over("w", 4000.0)
    store.ticks.pass_over("w", 3000.0)
    assert store.ticks.follow("w", RULE, 9000.0) == 4000.0


def test_under_a_new_rule_nothing_was_missed(store: Store) -> None:
    assert store.ticks.follow("w", "0 * * * * UTC", 9000.0) == 9000.0
    assert store.ticks.follow("w", "0 * * * * UTC", 9999.0) == 9000.0


def test_whether_the_owner_of_a_tick_lives_is_known_by_its_lease(store: Store) -> None:
    store.ticks.claim(FIRST)
    assert not _tick(store).owner_alive
    lease = store.leases.acquire(scheduler_lease("me"), "me", 600.0)
    assert _tick(store).owner_alive
    store.leases.release(lease)
    assert not _tick(store).owner_alive


def test_a_tick_is_adopted_by_one_and_lost_to_the_other(store: Store) -> None:
    store.ticks.claim(FIRST)
    seen = _tick(store)
    assert store.ticks.adopt(seen, "you")
    assert not store.ticks.adopt(seen, "somebody")
    assert not store.ticks.tried(seen), "the tick is no longer its first owner's"
    assert store.ticks.tried(_tick(store))
    assert (_tick(store).owner, _tick(store).tries) == ("you", 1)


def test_giving_up_ends_a_dead_run_for_good(store: Store) -> None:
    store.ticks.claim(FIRST)
    progress = _run(store, seconds=0.0)
    progress.attempt_begins("a", 1, "default", 101.0)
    lease = store.leases.acquire(lease_name("r1"), "me", 600.0)
    store.ticks.give_up(_tick(store), lease, "failed", "it died three times", ERROR)
    tick, run = _tick(store), store.runs.find("r1")
    assert (tick.status, tick.reason, tick.error) == ("failed", "it died three times", ERROR)
    assert run
    assert run.status == "failed"
    assert [job.status for job in store.runs.jobs("r1")] == ["cancelled"]
    assert [attempt.status for attempt in store.runs.attempts("r1")] == ["lost"]
    with pytest.raises(LeaseLost):
        progress.finish("succeeded", 102.0)
    assert store.ticks.unsettled(["w"]) == []
    resumed = store.progress(lease, "r1")
    resumed.take_up(job_names=["a"], at=200.0)
    resumed.finish("succeeded", 201.0)
    assert _tick(store).status == "succeeded", "a person has resumed its run"


def test_giving_up_leaves_a_run_that_ended_by_itself(store: Store) -> None:
    store.ticks.claim(FIRST)
    seen = _tick(store)
    _run(store, seconds=0.0).finish("succeeded", 101.0)
    store.ticks.give_up(seen, store.leases.acquire(lease_name("r1"), "me", 600.0), "cancelled", "asked")
    assert (_tick(store).status, _tick(store).reason) == ("succeeded", None)


def test_giving_up_a_tick_that_never_had_a_run(store: Store) -> None:
    store.ticks.claim(FIRST)
    store.ticks.give_up(_tick(store), store.leases.acquire(lease_name("r1"), "me", 600.0), "cancelled", "stopped")
    assert (_tick(store).status, _tick(store).reason) == ("cancelled", "stopped")


def test_the_newest_ticks_come_first(store: Store) -> None:
    for tick in (1.0, 2.0, 3.0):
        store.ticks.claim(Claim("w", tick, "me", f"r{tick}"))
    store.ticks.claim(Claim("v", 2.5, "me", "x"))
    assert [tick.key for tick in store.ticks.newest(3)] == [("w", 3.0), ("v", 2.5), ("w", 2.0)]
    assert [tick.key for tick in store.ticks.newest(9, "v")] == [("v", 2.5)]


def _race(url: str, number: int, barrier: Barrier, while_busy: str) -> list[tuple[float, str]]:
    with open_store(url) as store:
        won: list[tuple[float, str]] = []
        for n in range(TICKS):
            barrier.wait()
            # Half of the time they are after one tick, half of the time after two.
            tick = 10.0 * n + (number if n % 2 else 0)
            claim = Claim("w", tick, f"p{number}", f"{number}-{n}", "skip" if while_busy == "skip" else "start")
            answer = store.ticks.claim(claim)
            if answer != "taken":
                won.append((tick, answer))
        return won


def test_of_two_schedulers_one_gets_each_tick(url: str) -> None:
    first, second = answers_of(_race, url, processes=2, arguments=("start",))
    ticks = [tick for tick, _ in first + second]
    assert len(ticks) == len(set(ticks)) == TICKS * 3 // 2


def test_two_schedulers_never_start_two_runs_where_that_is_forbidden(url: str) -> None:
    answers = [answer for each in answers_of(_race, url, processes=2, arguments=("skip",)) for _, answer in each]
    assert sorted(answers) == ["claimed"] + ["skipped"] * (TICKS * 3 // 2 - 1)
