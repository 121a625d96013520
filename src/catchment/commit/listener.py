"""The requester of a write, as the commit path sees it."""

from __future__ import annotations

from typing import Protocol

from catchment.commit.linger import Linger


class Listener(Protocol):
    """Receives warnings about a write, and can cancel it."""

    @property
    def linger(self) -> Linger:
        """How long the sealed write waits for others before it is published."""
        ...

    def warn(self, text: str) -> None:
        """Receive a warning for the user."""
        ...

    def check(self) -> None:
        """Raise if the write was cancelled."""
        ...

    def wait_to_seal(self) -> None:
        """Wait until the complete buffer may be sealed; raises if the write was cancelled."""
        ...
