"""How long a sealed write waits for others, so that one commit publishes all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event


@dataclass(frozen=True)
class Linger:
    """How one sealed write waits before the table's lease is taken to publish it."""

    seconds: float = 0.0
    """The longest wait; 0 to publish at once."""
    announce: Callable[[], Event] = Event
    """Announces that the write is sealed; the event is set once no other write of the run is expected."""


AT_ONCE = Linger()
