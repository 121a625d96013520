"""Abandons open writes that will never be sealed: those of failed jobs and of lost engines."""

from __future__ import annotations

import time

from catchment.errors import CatchmentError
from catchment.store.ledger import Ledger
from catchment.store.writes import Entry

ROUND_SECONDS = 30.0
"""How often a publisher looks for such writes."""


class Rounds:
    """Says when the next round is due. Not thread-safe."""

    def __init__(self, seconds: float = ROUND_SECONDS) -> None:
        self._seconds = seconds
        self._next = 0.0

    def due(self) -> bool:
        """Whether a round is due; if so, schedules the next one."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + self._seconds
        return True


def abandon_lost(ledger: Ledger, target: str) -> tuple[str, ...]:
    """Abandon the open writes of lost engines; a run that still needs one of them starts it again.

    Only buffered writes: one that its format commits itself may be committed, so `own_commit.settle` checks the log.
    """
    gone = [write for write in ledger.ownerless(target) if write.intent.buffered]
    return tuple(write.write_id for write in gone if ledger.abandon(write, engine_lost(write)))


def reason(error: CatchmentError) -> dict[str, str | None]:
    """Why a write was abandoned, in the form that the ledger stores."""
    return {"code": error.code, "message": error.message, "hint": error.hint}


def engine_lost(write: Entry) -> dict[str, str]:
    """The error of a write whose engine is lost."""
    return {
        "code": "engine-lost",
        "message": f"the engine that wrote {write.write_id} is gone",
        "hint": "resume its run, or run its job again",
    }
