"""Writes that a format commits itself, recorded in the same ledger.

There is no seal: such a write has no effect until the format commits it, and then the write id is in the format's log.
The ledger keeps the write open until the id was found there. So an open write of a lost engine is either committed or
was never made, and the log tells which, unless that part of the log has been removed.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from catchment.commit.abandonment import engine_lost, reason
from catchment.commit.committed import Committed as Committed
from catchment.commit.publisher import Tell, behind
from catchment.commit.recovery import Refusal
from catchment.errors import JobError
from catchment.store.ledger import Ledger
from catchment.store.writes import Contents, Entry, Intent

log = logging.getLogger(__name__)


Find = Callable[[Entry], Committed | JobError | None]
"""Looks for a write in the format's log; returns an error if that part of the log no longer exists."""


@dataclass(frozen=True)
class Settled:
    """What became of the open writes of lost engines."""

    committed: tuple[str, ...]
    abandoned: tuple[str, ...]
    unknown: tuple[Refusal, ...]
    """Writes whose fate a person has to decide."""


def attempt_name(write_id: str) -> str:
    """A unique name for one attempt at a write that has no buffer."""
    return f"{write_id.replace('/', '.')}.{uuid.uuid4().hex[:8]}"


def finish(ledger: Ledger, intent: Intent, done: Committed, tell: Tell = log.warning) -> None:
    """Record in the ledger that the log has the write."""
    if ledger.finish(intent, Contents((), done.rows, done.bytes, done.files), done.snapshot_id):
        tell(behind(intent.target, [intent.write_id]))


def settle(ledger: Ledger, target: str, find: Find, tell: Tell = log.warning) -> Settled:
    """Settle the open writes of lost engines: committed if the log has them, otherwise abandoned.

    If the log no longer tells, the write is abandoned with that error, and is not written again until a person has
    looked for its rows. Abandoned as lost, it would be written again although its rows may be in the table.
    """
    committed, abandoned, unknown = [], [], []
    for write in (write for write in ledger.ownerless(target) if not write.intent.buffered):
        found = find(write)
        if isinstance(found, Committed):
            finish(ledger, write.intent, found, tell)
            committed.append(write.write_id)
        elif isinstance(found, JobError):
            if ledger.abandon(write, reason(found)):
                unknown.append(Refusal(write.write_id, found.code, found.message, found.hint))
        elif ledger.abandon(write, engine_lost(write)):
            abandoned.append(write.write_id)
    for each in unknown:
        tell(f"{each.message}; {each.hint}")
    return Settled(tuple(committed), tuple(abandoned), tuple(unknown))
