"""Giving up open writes that nobody will ever seal: of jobs that failed, and of engines that are gone."""

from __future__ import annotations

import time

from catchment.errors import CatchmentError
from catchment.store.ledger import Ledger
from catchment.store.writes import Entry

ROUND_SECONDS = 30.0
"""How often a publisher looks for them."""


class Rounds:
    """Says when it is time to look again. For one thread at a time."""

    def __init__(self, seconds: float = ROUND_SECONDS) -> None:
        self._seconds = seconds
        self._next = 0.0

    def due(self) -> bool:
        """Whether a round is due; the next one is then due later."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + self._seconds
        return True


def abandon_lost(ledger: Ledger, target: str) -> tuple[str, ...]:
    """Give up the open writes of engines that are gone; a run that wants one of them begins it anew.

    Only buffered ones. A write that its format commits itself may be committed: `own_commit.settle` asks the log.
    """
    gone = [write for write in ledger.ownerless(target) if write.intent.buffered]
    return tuple(write.write_id for write in gone if ledger.abandon(write, engine_lost(write)))


def reason(error: CatchmentError) -> dict[str, str | None]:
    """Why a write was given up, as the ledger keeps it."""
    return {"code": error.code, "message": error.message, "hint": error.hint}


def engine_lost(write: Entry) -> dict[str, str]:
    """The error of a write whose engine is gone."""
    return {
        "code": "engine-lost",
        "message": f"the engine that wrote {write.write_id} is gone",
        "hint": "resume its run, or run its job again",
    }
