"""A lease that is held: renewed while its owner works, lost if another takes it, given back at the end."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import update

from catchment.commit.leases import LEASE_SECONDS
from catchment.commit.presence import announce, reading
from catchment.errors import LeaseHeld, LeaseLost, MetastoreUnavailable
from catchment.store import Lease, Store, open_store
from catchment.store.database import CONNECTIONS, RENEWAL_SECONDS, database_time
from catchment.store.holding import HeldLease, Repeated
from catchment.store.schema import leases, readers

LONG = 600.0
OFTEN = 0.02
NEVER = 600.0
PATIENCE = 60.0


def wait_until(true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def taken_over(store: Store, name: str = "table/a") -> Lease:
    """Another owner takes a lease whose owner was not heard from; in one step, before the owner is heard from again."""
    with store.database.writing() as connection:
        fence = connection.scalar(
            update(leases)
            .where(leases.c.name == name)
            .values(owner="you", fence=leases.c.fence + 1, expires=database_time() + LONG)
            .returning(leases.c.fence)
        )
    return Lease(name, "you", fence)


def seconds_left(store: Store, name: str = "table/a") -> float:
    holder = store.leases.holder(name)
    return holder.seconds_left if holder else 0.0


def test_a_held_lease_is_renewed_and_given_back(store: Store) -> None:
    lease = store.leases.acquire("table/a", "me", 1.0)
    with HeldLease(store.leases, lease, LONG, every=OFTEN) as held:
        wait_until(lambda: seconds_left(store) > 100)
        held.check()
        with pytest.raises(LeaseHeld):
            HeldLease.acquire(store.leases, "table/a", "you", LONG)
    assert store.leases.holder("table/a") is None


def test_whoever_lost_its_lease_hears_it_and_takes_nothing_away(store: Store) -> None:
    with HeldLease.acquire(store.leases, "table/a", "me", LONG, every=OFTEN) as held:
        other = taken_over(store)

        def lost() -> bool:
            try:
                held.check()
            except LeaseLost:
                return True
            return False

        wait_until(lost)
    holder = store.leases.holder("table/a")
    assert holder is not None
    assert (holder.owner, holder.fence) == ("you", other.fence)


def test_a_renewal_gives_up_before_the_lease_does() -> None:
    assert RENEWAL_SECONDS < LEASE_SECONDS / 3


def test_a_renewal_does_not_wait_behind_a_writer_that_takes_its_time(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/metastore.db"
    with open_store(url) as store, open_store(url) as busy:
        lease = store.leases.acquire("table/a", "me", LONG)
        with busy.database.writing(), pytest.raises(MetastoreUnavailable):
            store.leases.renew(lease, LONG)
        store.leases.renew(lease, LONG)


def test_a_renewal_needs_no_connection_that_others_hold(store: Store) -> None:
    lease = store.leases.acquire("table/a", "me", LONG)
    with ExitStack() as held:
        for _ in range(CONNECTIONS):
            held.enter_context(store.database.reading())
        store.leases.renew(lease, LONG)


def test_a_renewal_that_failed_is_tried_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catchment.store.holding.AGAIN_SECONDS", OFTEN)
    turns: list[int] = []

    def renew() -> None:
        turns.append(1)
        raise MetastoreUnavailable("busy")

    renewal = Repeated("a lease", renew, 0.5)
    wait_until(lambda: len(turns) > 2)
    renewal.stop()


def test_a_holder_that_stands_still_is_not_renewed_for_ever(store: Store) -> None:
    with HeldLease.acquire(store.leases, "table/a", "me", 0.2, every=OFTEN, stalled=0.1) as hung:
        wait_until(lambda: store.leases.holder("table/a") is None)
        store.leases.acquire("table/a", "you", LONG)
        with pytest.raises(LeaseLost):
            hung.check(trust=0.0)


def test_a_holder_that_moves_again_before_anybody_took_over_goes_on(store: Store) -> None:
    with HeldLease.acquire(store.leases, "table/a", "me", 0.2, every=OFTEN, stalled=0.1) as slow:
        wait_until(lambda: store.leases.holder("table/a") is None)
        slow.check(trust=0.0)
        with pytest.raises(LeaseHeld):
            store.leases.acquire("table/a", "you", LONG)


def test_a_holder_that_calls_nobody_is_judged_by_its_progress(store: Store) -> None:
    """A statement of Spark may take hours without a call of `check`: it hangs if nothing works for it any more."""
    works, steps = threading.Event(), itertools.count()
    works.set()
    asked: list[object] = []

    def progress() -> object:
        asked.append(next(steps) if works.is_set() else "no step more")
        return asked[-1]

    with HeldLease.acquire(store.leases, "table/a", "me", 0.2, every=OFTEN, stalled=0.05, progress=progress):
        wait_until(lambda: len(asked) > 5)
        wait_until(lambda: store.leases.holder("table/a") is not None)
        works.clear()
        wait_until(lambda: store.leases.take("table/a", "you", LONG) is not None)


def test_an_old_renewal_is_not_trusted(store: Store) -> None:
    with HeldLease.acquire(store.leases, "table/a", "me", LONG, every=NEVER) as held:
        held.check(trust=-1.0)
        taken_over(store)
        held.check(trust=LONG)  # nobody has asked yet
        with pytest.raises(LeaseLost):
            held.check(trust=-1.0)


def test_an_engine_is_alive_for_as_long_as_its_process(store: Store) -> None:
    with announce(store, seconds=0.3, every=OFTEN) as engine:
        for _ in range(5):
            time.sleep(0.1)
            wait_until(lambda: store.leases.holder(engine.owner) is not None)


def test_a_reader_that_was_taken_for_dead_announces_itself_again(store: Store) -> None:
    with reading(store, "query", seconds=OFTEN * 6):
        with store.database.writing() as connection:
            connection.execute(readers.delete())
        wait_until(lambda: store.readers.oldest() is not None)
    assert store.readers.oldest() is None
