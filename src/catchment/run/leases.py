"""A run holds a lease while its process lives, so that others can tell whether it does and go on where it died."""

from __future__ import annotations

from catchment import process_identity
from catchment.errors import Cancelled, LeaseHeld
from catchment.run.identity import owner
from catchment.run.run_options import RunOptions
from catchment.store import Store
from catchment.store.holding import HeldLease
from catchment.store.leases import Holder
from catchment.store.runs import lease_name

LOOK_SECONDS = 0.2
"""How often a lease that may run out is looked at."""


def held_lease(store: Store, run_id: str, seconds: float) -> HeldLease:
    """Hold the lease of a run; raises LeaseHeld if another process executes the run."""
    return HeldLease.acquire(store.leases, lease_name(run_id), owner(), seconds, process=process_identity.identity())


def inherited_lease(store: Store, run_id: str, options: RunOptions) -> HeldLease:
    """Hold the lease of a run that may have died a moment ago; raises LeaseHeld if its process is alive.

    A process of this machine is known to be gone. Of any other, only the end of its lease tells, which is waited for.
    """
    try:
        return held_lease(store, run_id, options.timing.lease)
    except LeaseHeld:
        _await_end(store, run_id, options)
    return held_lease(store, run_id, options.timing.lease)


def _await_end(store: Store, run_id: str, options: RunOptions) -> None:
    """Return when nobody holds the lease, or when its holder has renewed it and so is alive."""
    name = lease_name(run_id)
    first = last = store.leases.holder(name)
    while last is not None and first is not None and not _is_alive(first, last):
        if last.process is not None and process_identity.is_gone(last.process):
            options.tell(f"the process of run {run_id} has died; this one takes it over")
            store.leases.end(name, last)
            return
        if last is first:
            wait = f"waiting up to {last.seconds_left:.0f} s for its lease to end"
            options.tell(f"run {run_id} was held by {last.owner}; {wait}")
        if options.stop.wait(LOOK_SECONDS):
            raise Cancelled(f"run {run_id} was not resumed: stopped while waiting for its lease")
        last = store.leases.holder(name)


def _is_alive(first: Holder, last: Holder) -> bool:
    """Whether the holder is known to be alive: its process is here, or it has changed or renewed its lease."""
    here = (
        last.process is not None
        and process_identity.is_here(last.process)
        and not process_identity.is_gone(last.process)
    )
    return here or last.fence != first.fence or last.seconds_left > first.seconds_left
