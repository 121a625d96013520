"""Keeps the metastore small: one engine at a time removes records older than the project's retention."""

from __future__ import annotations

from catchment.store import Store
from catchment.store.holding import Repeated

EVERY_SECONDS = 60.0
"""How often an engine checks whether it is its turn."""
TURN_SECONDS = 600.0
"""The time between two turns, whichever engines take them."""
BATCHES = 20
"""The most batches that are removed in one turn."""


def keep_small(store: Store, owner: str, days: float) -> Repeated:
    """Remove old records in the background, for as long as the engine lives."""
    return Repeated("removing old records of the metastore", lambda: take_turn(store, owner, days), EVERY_SECONDS)


def take_turn(store: Store, owner: str, days: float) -> int:
    """Remove old records unless an engine did so recently; returns how many."""
    # The lease is not released: it expires when the next turn is due, for any engine.
    if store.leases.take("upkeep", owner, TURN_SECONDS) is None:
        return 0
    removed = 0
    for _ in range(BATCHES):
        batch = store.pruning.prune(days)
        removed += batch
        if not batch:
            break
    return removed
