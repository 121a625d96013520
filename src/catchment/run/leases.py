"""A run or a scheduler holds a lease while its process lives, so that others can tell whether it does."""

from __future__ import annotations

from catchment.run.identity import owner
from catchment.store import Store
from catchment.store.holding import HeldLease
from catchment.store.runs import lease_name


def held_lease(store: Store, run_id: str, seconds: float) -> HeldLease:
    """Hold the lease of a run; raises LeaseHeld if another process executes the run."""
    return HeldLease.acquire(store.leases, lease_name(run_id), owner(), seconds)
