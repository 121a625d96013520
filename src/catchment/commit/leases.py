"""Leases of tables: kept while one works, waited for, or refused to a second writer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

from catchment.commit.listener import Listener
from catchment.errors import CommitConflict, LeaseHeld, LeaseLost, MetastoreUnavailable
from catchment.store import Lease, Store

LEASE_SECONDS = 10.0
"""How long a lease outlives a holder that died."""
CHECK_SECONDS = 1.0
"""How long a holder trusts in its lease before it looks again."""


def taken(store: Store, name: str, owner: str) -> Lease | None:
    """A lease that nobody holds; None where somebody does."""
    if store.leases.holder(name) is not None:
        return None  # asking costs nothing; trying to take it would queue up with every writer of the metastore
    try:
        return store.leases.acquire(name, owner, LEASE_SECONDS)
    except LeaseHeld:
        return None


@contextmanager
def held(store: Store, lease: Lease) -> Iterator[None]:
    """Renew a lease until the work is done, then give it back; where somebody took it over, the work goes on."""
    done = threading.Event()
    thread = threading.Thread(target=_renew, args=(store, lease, done), name="lease-renewal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        with suppress(MetastoreUnavailable):  # then it runs out by itself, and the work is done all the same
            store.leases.release(lease)


def checked(store: Store, lease: Lease) -> Callable[[], None]:
    """Raises `LeaseLost` where the lease is no longer ours; looks again after every second of work or of sleep."""
    known = time.monotonic()

    def check() -> None:
        nonlocal known
        if time.monotonic() - known > CHECK_SECONDS:
            store.database.patiently(lambda: store.leases.renew(lease, LEASE_SECONDS))
            known = time.monotonic()

    return check


def _renew(store: Store, lease: Lease, done: threading.Event) -> None:
    while not done.wait(LEASE_SECONDS / 3):
        try:
            store.leases.renew(lease, LEASE_SECONDS)
        except LeaseLost:
            return  # the swap decides between two consolidators; the work may go on
        except MetastoreUnavailable:
            continue


LOOK_SECONDS = 0.1
"""How often a writer that waits for its turn looks whether it has come."""


Right = Literal["table", "rows", "published"]
"""To commit to a table at all, to change rows of it, or to move what its readers see."""


@contextmanager
def turn(store: Store, target: str, owner: str, listener: Listener, right: Right = "table") -> Iterator[None]:
    """Hold a lease of a table; whoever finds it held waits, however long the other one takes."""
    while (lease := taken(store, f"{right}/{target}", owner)) is None:
        listener.check()
        time.sleep(LOOK_SECONDS)
    with held(store, lease):
        yield


@contextmanager
def only_writer(store: Store, target: str, who: str) -> Iterator[None]:
    """Hold the right to write a table for the whole of a write; where somebody else has it, be refused at once."""
    name = f"writer/{target}"
    try:
        lease = store.leases.acquire(name, who, LEASE_SECONDS)
    except LeaseHeld as error:
        holder = store.leases.holder(name)
        raise _second_writer(target, holder.owner if holder else "somebody who has just finished") from error
    with held(store, lease):
        yield


def _second_writer(target: str, holder: str) -> CommitConflict:
    return CommitConflict(
        f"{target} is being written by {holder}; a hadoop catalog loses commits when two write at the same time",
        code="second-writer",
        hint="use a jdbc or rest catalog for tables with several writers, or let one job depend on the other; "
        f"if the other one was killed, try again in {LEASE_SECONDS:.0f} s",
    )
