"""How long a sealed write waits for others, so that one commit publishes all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event


@dataclass(frozen=True)
class Linger:
    """The wait of one sealed write before somebody takes the table's lease for it."""

    seconds: float = 0.0
    """The longest wait; 0 if the write is published at once."""
    announce: Callable[[], Event] = Event
    """Says that the write is sealed; the event is set as soon as no other write of its run is to come."""


AT_ONCE = Linger()
