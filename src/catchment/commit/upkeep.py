"""Engines keep the metastore small: one of them at a time removes what is older than the project keeps."""

from __future__ import annotations

from catchment.store import Store
from catchment.store.holding import Repeated

EVERY_SECONDS = 60.0
"""How often an engine looks whether it is its turn."""
TURN_SECONDS = 600.0
"""How long the engines rest after one of them has had its turn."""
BATCHES = 20
"""The most that is removed in one turn."""


def keep_small(store: Store, owner: str, days: float) -> Repeated:
    """Remove old records in the background, for as long as the engine lives."""
    return Repeated("removing old records of the metastore", lambda: take_turn(store, owner, days), EVERY_SECONDS)


def take_turn(store: Store, owner: str, days: float) -> int:
    """Remove old records if no engine did so a while ago; returns how many."""
    # The lease is not given back: it runs out when the next turn is due, whoever takes it.
    if store.leases.take("upkeep", owner, TURN_SECONDS) is None:
        return 0
    removed = 0
    for _ in range(BATCHES):
        batch = store.pruning.prune(days)
        removed += batch
        if not batch:
            break
    return removed
