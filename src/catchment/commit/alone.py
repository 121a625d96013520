"""The only writer of a table: for catalogs that lose commits when two processes write at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from catchment.commit.renewal import LEASE_SECONDS, held
from catchment.errors import CommitConflict, LeaseHeld
from catchment.store import Store


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
