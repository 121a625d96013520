"""The event stream of a run: events are redacted once and delivered to every sink in order."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from queue import SimpleQueue
from threading import Thread
from typing import Any, Literal, Protocol

from catchment.project.secrets import Redactor

EventKind = Literal[
    "run-started",
    "run-finished",
    "engine-starting",
    "engine-preparing",
    "engine-ready",
    "engine-lost",
    "engine-stopped",
    "job-started",
    "job-note",
    "job-retrying",
    "job-succeeded",
    "job-failed",
    "job-skipped",
    "job-cancelled",
]


@dataclass(frozen=True)
class Event:
    at: datetime
    """UTC."""
    run_id: str
    kind: EventKind
    job: str | None = None
    attempt: int | None = None
    engine: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


class Sink(Protocol):
    """Receives every event of a run; must not raise and must not block for long."""

    def emit(self, event: Event) -> None: ...

    def close(self) -> None: ...


log = logging.getLogger(__name__)


class Hub:
    """Accepts events from any thread and delivers them in its own, so that a slow sink delays no job."""

    def __init__(self, run_id: str, redactor: Redactor) -> None:
        self._run_id = run_id
        self._redactor = redactor
        self._queue: SimpleQueue[Event | None] = SimpleQueue()
        self._sinks: list[Sink] = []
        self._thread: Thread | None = None

    def open(self, sinks: Sequence[Sink]) -> None:
        """Start delivering; events emitted earlier are delivered first."""
        self._sinks = list(sinks)
        self._thread = Thread(target=self._deliver, name="catchment-events", daemon=True)
        self._thread.start()

    def emit(
        self,
        kind: EventKind,
        *,
        job: str | None = None,
        attempt: int | None = None,
        engine: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Emit an event with the current time."""
        clean = self._redactor.data(data or {})
        self._queue.put(Event(datetime.now(timezone.utc), self._run_id, kind, job, attempt, engine, clean))

    def close(self) -> None:
        """Deliver what is left and close the sinks."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _deliver(self) -> None:
        while (event := self._queue.get()) is not None:
            for sink in tuple(self._sinks):
                self._give(sink, event)
        for sink in self._sinks:
            self._finish(sink)

    def _give(self, sink: Sink, event: Event) -> None:
        try:
            sink.emit(event)
        except Exception as error:
            # A sink only reports; if one fails, the run must go on.
            log.warning("%s gets no more events of this run: %s", type(sink).__name__, error)
            self._sinks.remove(sink)
            self._finish(sink)

    def _finish(self, sink: Sink) -> None:
        try:
            sink.close()
        except Exception as error:
            log.warning("%s could not be closed: %s", type(sink).__name__, error)
