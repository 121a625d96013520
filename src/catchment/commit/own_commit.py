"""Formats with a log of their own: their own commit, wrapped in the same ledger.

There is no seal: what the format has written is nothing until the format has committed it, and then the write id is in
its log. A write is open until somebody has seen it there. So an open write whose engine is gone is committed or was
never made, and the log tells which.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from catchment.commit.abandonment import engine_lost
from catchment.store.ledger import Ledger
from catchment.store.writes import Contents, Intent


@dataclass(frozen=True)
class Committed:
    """A write as the format's log has it."""

    snapshot_id: int | None
    rows: int
    bytes: int
    files: int


Find = Callable[[str], Committed | None]
"""Looks for a write id in the format's log."""


@dataclass(frozen=True)
class Settled:
    """What became of the open writes of engines that are gone."""

    committed: tuple[str, ...]
    abandoned: tuple[str, ...]


def attempt_name(write_id: str) -> str:
    """A name for one attempt at a write that has no buffer."""
    return f"{write_id.replace('/', '.')}.{uuid.uuid4().hex[:8]}"


def finish(ledger: Ledger, intent: Intent, done: Committed) -> None:
    """Remember what the log says."""
    ledger.finish(intent, Contents((), done.rows, done.bytes, done.files), done.snapshot_id)


def settle(ledger: Ledger, target: str, find: Find) -> Settled:
    """End the open writes of engines that are gone: committed if the log has them, given up otherwise."""
    committed, abandoned = [], []
    for write in (write for write in ledger.ownerless(target) if not write.intent.buffered):
        if (done := find(write.write_id)) is not None:
            finish(ledger, write.intent, done)
            committed.append(write.write_id)
        elif ledger.abandon(write, engine_lost(write)):
            abandoned.append(write.write_id)
    return Settled(tuple(committed), tuple(abandoned))
