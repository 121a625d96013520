"""Whoever asked for a write."""

from __future__ import annotations

from typing import Protocol

from catchment.commit.linger import Linger


class Listener(Protocol):
    """Hears why a write takes time, and may want it to stop."""

    @property
    def linger(self) -> Linger:
        """How long the sealed write waits for others before it is published."""
        ...

    def warn(self, text: str) -> None:
        """Hear what a person should know."""
        ...

    def check(self) -> None:
        """Raise where the write is no longer wanted."""
        ...

    def wait_to_seal(self) -> None:
        """The buffer is full: return when it may be sealed, raise where it is no longer wanted."""
        ...
