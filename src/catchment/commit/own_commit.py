"""Formats with a log of their own: their own commit, wrapped in the same ledger.

There is no seal: what the format has written is nothing until the format has committed it, and then the write id is in
its log. A write is open until somebody has seen it there. So an open write whose engine is gone is committed or was
never made, and the log tells which, unless that part of it was removed meanwhile.
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
"""Looks for a write in the format's log; an error says that the log does not tell any more."""


@dataclass(frozen=True)
class Settled:
    """What became of the open writes of engines that are gone."""

    committed: tuple[str, ...]
    abandoned: tuple[str, ...]
    unknown: tuple[Refusal, ...]
    """Writes of which a person has to say what became of them."""


def attempt_name(write_id: str) -> str:
    """A name for one attempt at a write that has no buffer."""
    return f"{write_id.replace('/', '.')}.{uuid.uuid4().hex[:8]}"


def finish(ledger: Ledger, intent: Intent, done: Committed, tell: Tell = log.warning) -> None:
    """Remember what the log says."""
    if ledger.finish(intent, Contents((), done.rows, done.bytes, done.files), done.snapshot_id):
        tell(behind(intent.target, [intent.write_id]))


def settle(ledger: Ledger, target: str, find: Find, tell: Tell = log.warning) -> Settled:
    """End the open writes of engines that are gone: committed if the log has them, given up otherwise.

    One of which the log does not tell any more is given up with that error: nobody writes it again until a person has
    looked for its rows. Given up as lost, it would be written again although it may be there.
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
