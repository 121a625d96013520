"""The sealed writes of one attempt that wait for other writes of the run to the same table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Event

from catchment.commit.linger import Linger
from catchment.engine.protocol import Sealed
from catchment.plan.model import OutputPlan


class Lingering:
    """Tells the run what is sealed, and waits for its signal to publish."""

    def __init__(self, attempt: str, send: Callable[[Sealed], None]) -> None:
        self._attempt = attempt
        self._send = send
        self._waiting: dict[str, Event] = {}
        self._ended = False

    def of(self, output: OutputPlan) -> Linger:
        """The wait of one output."""
        return Linger(output.linger, partial(self._announce, output.name))

    def publish(self, output: str) -> None:
        """End the wait of this output: no other write of the run is expected."""
        if output in self._waiting:
            self._waiting[output].set()

    def end(self) -> None:
        """End every wait, also those yet to begin: the run is cancelled, and sealed writes are published at once."""
        self._ended = True
        for output in tuple(self._waiting):
            self.publish(output)

    def _announce(self, output: str) -> Event:
        called = self._waiting[output] = Event()
        if self._ended:
            called.set()
        self._send(Sealed(self._attempt, output))
        return called
