"""Leases: one holder at a time, a fence that only grows, and no writing without it."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import ANY

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import delete, text, update

from catchment.errors import LeaseHeld, LeaseLost
from catchment.process_identity import ProcessIdentity
from catchment.run_model import RunRequest
from catchment.store import Lease, Store
from catchment.store.runs import lease_name
from catchment.store.schema import leases

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


def test_the_process_of_a_holder_is_known_if_it_has_said_so(store: Store) -> None:
    process = ProcessIdentity("boot", 4711, 2**40)
    store.leases.acquire("run/a", "me", LONG, process)
    holder = store.leases.holder("run/a")
    assert holder is not None
    assert holder.process == process
    store.leases.end("run/a", holder)
    store.leases.acquire("run/a", "you", LONG)
    store.leases.end("run/a", holder)  # that one is gone, and this one is another
    assert store.leases.holder("run/a") == replace(holder, owner="you", fence=2, seconds_left=ANY, process=None)


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


def test_a_heartbeat_keeps_a_lease_and_without_it_the_lease_ends(store: Store) -> None:
    lease = store.leases.acquire("table/a", "me", OVER)
    store.leases.renew(lease, LONG)
    with pytest.raises(LeaseHeld):
        store.leases.acquire("table/a", "you", LONG)
    store.leases.renew(lease, OVER)
    assert store.leases.acquire("table/a", "you", LONG).fence == 2


@pytest.mark.parametrize("clock", [0.0, 1e12], ids=["slow", "fast"])
def test_the_clock_of_a_machine_does_not_count(store: Store, clock: float, monkeypatch: pytest.MonkeyPatch) -> None:
    store.leases.acquire("table/a", "me", LONG)
    ended = store.leases.acquire("table/b", "me", OVER)
    monkeypatch.setattr("time.time", lambda: clock)
    holder = store.leases.holder("table/a")
    assert holder is not None
    assert LONG - 60 < holder.seconds_left <= LONG
    with pytest.raises(LeaseHeld):
        store.leases.acquire("table/a", "you", LONG)
    assert store.leases.acquire("table/b", "you", LONG).fence > ended.fence


def _set_clock_back(store: Store, seconds: float) -> None:
    """As if the database's clock had gone back: everything that was given ends later."""
    with store.database.writing() as connection:
        connection.execute(update(leases).values(expires=leases.c.expires + seconds))


def test_a_clock_that_goes_back_keeps_no_lease_for_longer_than_it_was_given(store: Store) -> None:
    store.leases.acquire("table/a", "the dead", 10.0)
    _set_clock_back(store, 3600.0)
    assert store.leases.take("table/a", "you", LONG) is None  # from here on the lease has its own length to live
    with pytest.raises(LeaseHeld):
        store.leases.acquire("table/a", "you", LONG)
    holder = store.leases.holder("table/a")
    assert holder is not None
    assert holder.seconds_left <= 10.0


def test_a_clock_that_goes_back_costs_a_living_holder_nothing(store: Store) -> None:
    lease = store.leases.acquire("table/a", "me", 10.0)
    _set_clock_back(store, 3600.0)
    assert store.leases.take("table/a", "you", LONG) is None
    store.leases.renew(lease, LONG)
    holder = store.leases.holder("table/a")
    assert holder is not None
    assert LONG - 60 < holder.seconds_left <= LONG


def test_a_run_whose_clock_went_back_is_not_alive_for_ever(store: Store) -> None:
    lease = store.leases.acquire(lease_name("r1"), "me", 10.0)
    store.progress(lease, "r1").begin(RunRequest("2024"), workflow="w", file="w.yaml", job_names=["a"], at=100.0)
    assert [run.status for run in store.runs.newest(1)] == ["running"]
    _set_clock_back(store, 3600.0)
    assert [run.status for run in store.runs.newest(1)] == ["dead"]


class LeaseMachine(RuleBasedStateMachine):
    """Three owners do anything in any order; a model of one line each says what must come of it."""

    OWNERS = st.sampled_from(["a", "b", "c"])
    SECONDS = st.sampled_from([LONG, OVER])

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.given: list[Lease] = []
        self.held = False
        """Whether the newest lease has time left."""
        self.released = False
        with store.database.writing() as connection:
            connection.execute(delete(leases))

    @rule(owner=OWNERS, seconds=SECONDS)
    def acquire(self, owner: str, seconds: float) -> None:
        if self.held:
            with pytest.raises(LeaseHeld):
                self.store.leases.acquire("t", owner, seconds)
            return
        self.given.append(self.store.leases.acquire("t", owner, seconds))
        assert self.given[-1] == Lease("t", owner, len(self.given))
        self.held, self.released = seconds > 0, False

    @rule(back=st.integers(0, 3), seconds=SECONDS)
    def renew(self, back: int, seconds: float) -> None:
        lease = self._given(back)
        if lease is None:
            return
        if self._counts(lease):
            self.store.leases.renew(lease, seconds)
            self.held = seconds > 0
        else:
            with pytest.raises(LeaseLost):
                self.store.leases.renew(lease, seconds)

    @rule(back=st.integers(0, 3))
    def release(self, back: int) -> None:
        lease = self._given(back)
        if lease is None:
            return
        self.store.leases.release(lease)
        if self._counts(lease):
            self.held, self.released = False, True

    @rule(back=st.integers(0, 3))
    def act(self, back: int) -> None:
        lease = self._given(back)
        if lease is None:
            return
        if self._counts(lease):
            with self.store.leases.holding(lease):
                pass
        else:
            with pytest.raises(LeaseLost), self.store.leases.holding(lease):
                pytest.fail("a lease that is gone let somebody write")

    @invariant()
    def the_holder_is_the_newest(self) -> None:
        holder = self.store.leases.holder("t")
        assert (holder is not None) == self.held
        assert holder is None or (holder.owner, holder.fence) == (self.given[-1].owner, self.given[-1].fence)

    def _given(self, back: int) -> Lease | None:
        return self.given[-1 - back] if back < len(self.given) else None

    def _counts(self, lease: Lease) -> bool:
        return lease is self.given[-1] and not self.released


def test_whatever_three_owners_do_only_the_newest_lease_counts(store: Store) -> None:
    class Machine(LeaseMachine):
        def __init__(self) -> None:
            super().__init__(store)

    run_state_machine_as_test(Machine, settings=settings(max_examples=12, stateful_step_count=25))
