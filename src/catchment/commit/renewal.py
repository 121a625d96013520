"""Keeping a lease while one works."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from catchment.errors import LeaseHeld, LeaseLost, MetastoreUnavailable
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
            store.leases.renew(lease, LEASE_SECONDS)
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
