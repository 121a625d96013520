"""Leases: one holder at a time, a fence that only grows, and no writing without it."""

from __future__ import annotations

import multiprocessing
from multiprocessing.queues import Queue

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from catchment.errors import LeaseHeld, LeaseLost
from catchment.store import Lease, Store, open_store

LONG = 600.0
OVER = 0.0
"""A lease for no time at all has already run out."""


def test_a_lease_is_taken_once(store: Store) -> None:
    lease = store.leases.acquire("table/a", "me", LONG)
    assert lease == Lease("table/a", "me", 1)
    with pytest.raises(LeaseHeld) as caught:
        store.leases.acquire("table/a", "you", LONG)
    assert caught.value.code == "lease-held"
    assert "me" in caught.value.message


def test_the_holder_is_known_with_the_time_that_is_left(store: Store) -> None:
    assert store.leases.holder("table/a") is None
    store.leases.acquire("table/a", "me", LONG)
    holder = store.leases.holder("table/a")
    assert holder is not None
    assert (holder.owner, holder.fence) == ("me", 1)
    assert LONG - 60 < holder.seconds_left <= LONG


def test_a_lease_that_ran_out_goes_to_the_next_with_a_higher_fence(store: Store) -> None:
    first = store.leases.acquire("table/a", "me", OVER)
    assert store.leases.holder("table/a") is None
    second = store.leases.acquire("table/a", "you", LONG)
    assert second.fence > first.fence
    with pytest.raises(LeaseLost):
        store.leases.renew(first, LONG)
    store.leases.release(first)
    assert store.leases.holder("table/a") is not None


def test_a_lease_that_ran_out_unnoticed_can_be_renewed(store: Store) -> None:
    lease = store.leases.acquire("table/a", "me", OVER)
    store.leases.renew(lease, LONG)
    with pytest.raises(LeaseHeld):
        store.leases.acquire("table/a", "you", LONG)


def test_a_released_lease_is_free_and_cannot_be_renewed(store: Store) -> None:
    lease = store.leases.acquire("table/a", "me", LONG)
    store.leases.release(lease)
    with pytest.raises(LeaseLost):
        store.leases.renew(lease, LONG)
    assert store.leases.acquire("table/a", "you", LONG).fence == 2


def test_leases_of_different_names_do_not_meet(store: Store) -> None:
    assert store.leases.acquire("table/a", "me", LONG).fence == 1
    assert store.leases.acquire("table/b", "you", LONG).fence == 1


def test_nothing_is_written_without_the_lease(store: Store) -> None:
    stale = store.leases.acquire("table/a", "me", OVER)
    store.leases.acquire("table/a", "you", LONG)
    with pytest.raises(LeaseLost), store.leases.holding(stale) as connection:
        connection.execute(text("DELETE FROM leases"))
    assert store.leases.holder("table/a") is not None


Step = tuple[str, int, str]
STEPS = st.lists(
    st.tuples(st.sampled_from(["acquire", "lapse", "renew", "release"]), st.integers(0, 2), st.just("t")), max_size=25
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_fences_grow_and_only_the_newest_holds(store: Store, steps: list[Step]) -> None:
    """Whatever three owners do in whatever order, at most one of the leases ever given out still counts."""
    with store.database.writing() as connection:
        connection.execute(text("DELETE FROM leases"))
    given_out: list[Lease] = []
    for action, owner, name in steps:
        mine = [lease for lease in given_out if lease.owner == str(owner)]
        try:
            if action in {"acquire", "lapse"}:
                lease = store.leases.acquire(name, str(owner), LONG if action == "acquire" else OVER)
                assert all(lease.fence > earlier.fence for earlier in given_out)
                given_out.append(lease)
            elif mine and action == "renew":
                store.leases.renew(mine[-1], LONG)
                assert mine[-1] is given_out[-1]
            elif mine:
                store.leases.release(mine[-1])
        except LeaseHeld:
            pass
    assert sum(_counts(store, lease) for lease in given_out) <= 1
    assert not any(_counts(store, lease) for lease in given_out[:-1])


def _counts(store: Store, lease: Lease) -> bool:
    try:
        with store.leases.holding(lease):
            return True
    except LeaseLost:
        return False


def _take_turns(url: str, owner: str, taken: Queue[tuple[str, int]]) -> None:
    with open_store(url) as store:
        mine = 0
        while mine < 10:
            try:
                lease = store.leases.acquire("one", owner, LONG)
            except LeaseHeld:
                continue
            taken.put((owner, lease.fence))
            store.leases.release(lease)
            mine += 1


def test_processes_never_share_a_fence(url: str) -> None:
    open_store(url).close()
    context = multiprocessing.get_context("spawn")
    taken: Queue[tuple[str, int]] = context.Queue()
    processes = [context.Process(target=_take_turns, args=(url, f"p{n}", taken)) for n in range(3)]
    for process in processes:
        process.start()
    seen = [taken.get(timeout=60) for _ in range(30)]
    for process in processes:
        process.join(60)
    assert sorted(fence for _, fence in seen) == list(range(1, 31))
