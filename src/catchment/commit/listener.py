"""Whoever asked for a write."""

from __future__ import annotations

from typing import Protocol


class Listener(Protocol):
    """Hears why a write takes time, and may want it to stop."""

    def warn(self, text: str) -> None:
        """Hear what a person should know."""
        ...

    def check(self) -> None:
        """Raise where the write is no longer wanted."""
        ...

    def wait_to_seal(self) -> None:
        """The buffer is full: return when it may be sealed, raise where it is no longer wanted."""
        ...
