"""Table leases: a writer holds one while it works; a second writer waits or is refused."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from catchment.commit.listener import Listener
from catchment.errors import CommitConflict, LeaseHeld
from catchment.store import Lease, Store
from catchment.store.holding import HeldLease

LEASE_SECONDS = 10.0
"""How long a lease outlives a holder that died."""
CHECK_SECONDS = 1.0
"""How long a holder trusts its last renewal before it checks with the metastore again."""


STALLED_SECONDS = 1800.0
"""A statement counts as hung if Spark has run no job for it for this long. This is long because an engine also works
without Spark jobs: it plans, writes manifests, and removes thousands of old files one by one."""

Progress = Callable[[], object]
"""Returns a different value after each step of the holder's work."""


def held(store: Store, lease: Lease, stalled: float = math.inf, progress: Progress = lambda: None) -> HeldLease:
    """Renew a table lease until the work is done, then release it.

    A holder that has neither called `check` nor made progress for `stalled` seconds counts as hung, and its lease is
    no longer renewed.
    """
    return HeldLease(store.leases, lease, LEASE_SECONDS, every=LEASE_SECONDS / 3, stalled=stalled, progress=progress)


LOOK_SECONDS = 0.1
"""How often a waiting writer checks whether it is its turn."""


Right = Literal["table", "rows", "published", "creation", "compact"]
"""The right to commit to a table, to change rows of it, to change its published version, to create it or drop it, or to
compact it."""


@contextmanager
def table_lease(
    store: Store, target: str, owner: str, listener: Listener, progress: Progress, right: Right = "table"
) -> Iterator[None]:
    """Hold a table lease. If another writer holds it, wait as long as that writer works, unless it hangs."""
    while (lease := store.leases.take(f"{right}/{target}", owner, LEASE_SECONDS)) is None:
        listener.check()
        time.sleep(LOOK_SECONDS)
    with held(store, lease, STALLED_SECONDS, progress):
        yield


def await_release(store: Store, target: str, listener: Listener, right: Right) -> None:
    """Wait until a table lease is free, without taking it."""
    while store.leases.holder(f"{right}/{target}") is not None:
        listener.check()
        time.sleep(LOOK_SECONDS)


@contextmanager
def only_writer(store: Store, target: str, place: str, who: str, progress: Progress) -> Iterator[None]:
    """Hold the exclusive right to write the table at a place for a whole write. A second writer is refused at once."""
    name = f"writer/{place}"
    try:
        lease = store.leases.acquire(name, who, LEASE_SECONDS)
    except LeaseHeld as error:
        holder = store.leases.holder(name)
        raise _second_writer(target, holder.owner if holder else "somebody who has just finished") from error
    with held(store, lease, STALLED_SECONDS, progress):
        yield


def _second_writer(target: str, holder: str) -> CommitConflict:
    return CommitConflict(
        f"{target} is being written by {holder}; a hadoop catalog loses commits when two write at the same time",
        code="second-writer",
        hint="use a jdbc or rest catalog for tables with several writers, or let one job depend on the other; "
        f"if the other one was killed, try again in {LEASE_SECONDS:.0f} s",
    )
