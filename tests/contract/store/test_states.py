"""Where incremental jobs stand: the state moves with its window, in one step, for the holder of the lease alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catchment.errors import JobError, LeaseLost
from catchment.run_model import Backfill
from catchment.store import Lease, Store
from catchment.store.states import InputWindow, State, Window, lease_name

LONG = 600.0
JOB = ("flow", "load")


@pytest.fixture
def lease(store: Store) -> Lease:
    return store.leases.acquire(lease_name(*JOB), "me", LONG)


def window(start: str, end: str, identity: str = "run-1") -> Window:
    part = InputWindow({"start": start, "end": end}, {"start": end}, "UTC")
    run_id = identity.partition(".")[0]
    return Window(*JOB, 0, "run", "open", identity, {"orders": part}, runs=(run_id,))


def opened(store: Store, lease: Lease, start: str, end: str, identity: str = "run-1") -> Window:
    return store.states.open(lease, [window(start, end, identity)])[0]


def test_a_job_that_never_ran_has_no_state(store: Store) -> None:
    assert store.states.of_job(*JOB) == {}
    assert store.states.windows(*JOB) == ()


def test_the_state_moves_when_the_window_is_done(store: Store, lease: Lease) -> None:
    first = opened(store, lease, "1", "2")
    assert (first.number, first.status, store.states.of_job(*JOB)) == (1, "open", {})
    store.states.finish(lease, first)
    state = store.states.of_job(*JOB)["orders"]
    assert (state.keys, state.zone, state.changed_by) == ({"start": "2"}, "UTC", "run run-1")
    assert [each.status for each in store.states.windows(*JOB)] == ["done"]


def test_finishing_again_after_a_lost_answer_changes_nothing(store: Store, lease: Lease) -> None:
    first = opened(store, lease, "1", "2")
    store.states.finish(lease, first)
    second = opened(store, lease, "2", "3", "run-2")
    store.states.finish(lease, second)
    store.states.finish(lease, first)
    assert store.states.of_job(*JOB)["orders"].keys == {"start": "3"}


def test_an_input_without_news_keeps_its_state(store: Store, lease: Lease) -> None:
    parts = {
        "orders": InputWindow({"start": "1", "end": "2"}, {"start": "2"}, "UTC"),
        "rates": InputWindow({}, None, "UTC"),
    }
    both = Window(*JOB, 0, "run", "open", "run-1", parts, runs=("run-1",))
    store.states.finish(lease, *store.states.open(lease, [both]))
    assert set(store.states.of_job(*JOB)) == {"orders"}


def test_whoever_lost_the_lease_moves_nothing(store: Store, lease: Lease) -> None:
    first = opened(store, lease, "1", "2")
    store.leases.release(lease)
    store.leases.acquire(lease_name(*JOB), "you", LONG)
    with pytest.raises(LeaseLost):
        store.states.finish(lease, first)
    assert store.states.of_job(*JOB) == {}
    assert store.states.unfinished(*JOB, "run") == (first,)


def test_a_window_that_came_to_nothing_is_not_taken_up_again(store: Store, lease: Lease) -> None:
    store.states.give_up(lease, opened(store, lease, "1", "2"))
    assert store.states.unfinished(*JOB, "run") == ()
    assert [each.status for each in store.states.of_run(*JOB, "run-1")] == ["failed"]
    assert store.states.of_job(*JOB) == {}


def test_opening_again_after_a_lost_answer_opens_nothing(store: Store, lease: Lease) -> None:
    first = opened(store, lease, "1", "2")
    assert opened(store, lease, "1", "2") == first
    assert store.states.windows(*JOB) == (first,)


def test_the_windows_of_a_run(store: Store, lease: Lease) -> None:
    for number, identity in enumerate(("run-1", "run-1.2", "run-10", "run-2")):
        store.states.finish(lease, opened(store, lease, str(number), str(number + 1), identity))
    assert [each.identity for each in store.states.of_run(*JOB, "run-1")] == ["run-1", "run-1.2"]


def test_a_person_sets_the_state_and_what_was_begun_is_dropped(store: Store, lease: Lease) -> None:
    begun = opened(store, lease, "1", "2")
    store.states.change(lease, "set", State(*JOB, "orders", {"start": "7"}), "ann")
    assert store.states.of_job(*JOB)["orders"].keys == {"start": "7"}
    assert [(each.cause, each.status, each.opened_by) for each in store.states.windows(*JOB)] == [
        ("set", "done", "ann"),
        ("run", "dropped", "run run-1"),
    ]
    with pytest.raises(JobError) as caught:
        store.states.finish(lease, begun)
    assert caught.value.code == "window-dropped"
    assert store.states.of_job(*JOB)["orders"].keys == {"start": "7"}


def test_resetting_forgets_the_state_and_keeps_the_history(store: Store, lease: Lease) -> None:
    store.states.finish(lease, opened(store, lease, "1", "2"))
    store.states.change(lease, "reset", State(*JOB, "orders"), "ann")
    assert store.states.of_job(*JOB) == {}
    newest = store.states.windows(*JOB, limit=1)[0]
    assert (newest.cause, newest.inputs["orders"].values, newest.inputs["orders"].after) == (
        "reset",
        {"start": "2"},
        {},
    )


def test_a_window_remembers_its_outputs(store: Store, lease: Lease) -> None:
    outputs = {"rows": "dataos://lake:raw/t"}
    store.states.open(lease, [replace(window("1", "2"), outputs=outputs), window("2", "3", "run-2")])
    assert [each.outputs for each in store.states.windows(*JOB)] == [None, outputs]


def test_a_window_that_was_taken_over_belongs_to_both_runs(store: Store, lease: Lease) -> None:
    begun = replace(window("1", "2", "run-1.b1"), cause="backfill", backfill=Backfill("1", "2"))
    left = store.states.open(lease, [begun])
    for _ in range(2):
        left = store.states.take_over(lease, left, "run-2")
    store.states.take_over(lease, left, "run-31")
    [taken] = store.states.windows(*JOB)
    assert (taken.opened_by, taken.identity) == ("run run-1, run run-2, run run-31: 1..2", "run-1.b1")
    for run in ("run-1", "run-2", "run-31"):
        assert store.states.of_run(*JOB, run, "backfill") == (taken,)
    assert store.states.of_run(*JOB, "run-3", "backfill") == ()
