"""Formats with a log of their own: their own commit, wrapped in the same ledger.

There is no seal: what the format has written is nothing until the format has committed it, and then the write id is in
its log. A write is open until somebody has seen it there. So an open write whose engine is gone is committed or was
never made, and the log tells which.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from catchment.commit.ledger import Ledger
from catchment.commit.lost_writes import lost
from catchment.commit.model import Contents, Entry, Intent
from catchment.commit.model import is_directory as is_directory


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


def attempt_name(place: str, write_id: str) -> str:
    """What stands in the ledger for the buffer that there is not: a name of its own for every attempt."""
    return f"{place}#{write_id.replace('/', '.')}.{uuid.uuid4().hex[:8]}"


def begin(ledger: Ledger, intent: Intent) -> Entry:
    """Open a write; what earlier attempts have left is the format's own to clean up."""
    write = ledger.open(intent)
    _forget(ledger, intent.target)
    return write


def finish(ledger: Ledger, intent: Intent, done: Committed) -> None:
    """Remember what the log says."""
    ledger.finish(intent, Contents((), done.rows, done.bytes, done.files), done.snapshot_id)


def give_up(ledger: Ledger, write: Entry, error: Mapping[str, Any]) -> None:
    """End a write that the log does not have, because its attempt has failed."""
    ledger.abandon(write, error)
    ledger.forget([write.intent.buffer])


def settle(ledger: Ledger, target: str, find: Find) -> Settled:
    """End the open writes of engines that are gone: committed if the log has them, given up otherwise."""
    committed, abandoned = [], []
    for write in (write for write in ledger.ownerless(target) if not is_directory(write.intent.buffer)):
        if (done := find(write.write_id)) is not None:
            finish(ledger, write.intent, done)
            committed.append(write.write_id)
        elif ledger.abandon(write, lost(write)):
            abandoned.append(write.write_id)
    _forget(ledger, target)
    return Settled(tuple(committed), tuple(abandoned))


def _forget(ledger: Ledger, target: str) -> None:
    """There is nothing to remove; directories of buffered writes to the same table stay until they are removed."""
    ledger.forget(buffer for _, buffer in ledger.leftovers(target) if not is_directory(buffer))
