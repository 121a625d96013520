"""The event stream of a run: events are redacted once and delivered to every sink in order."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from queue import SimpleQueue
from threading import Lock, Thread
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

    @property
    def is_progress(self) -> bool:
        """Whether it only reports the progress of a job, which is soon outdated."""
        return self.kind == "job-note" and self.data.get("event") in ("progress", "batch")


class Sink(Protocol):
    """Receives every event of a run, in a thread of its own; must not raise."""

    def emit(self, event: Event) -> None: ...

    def close(self) -> None: ...


log = logging.getLogger(__name__)


BACKLOG = 1000
"""How many events a sink may lag behind before progress events are dropped, so that its backlog stays small."""


class Hub:
    """Accepts events from any thread, and delivers them to each sink in a thread of its own.

    A slow or stuck sink therefore delays neither a job nor another sink.
    """

    def __init__(self, run_id: str, redactor: Redactor) -> None:
        self._run_id = run_id
        self._redactor = redactor
        self._order = Lock()
        self._early: list[Event] = []
        self._deliveries: tuple[_Delivery, ...] = ()

    def open(self, sinks: Sequence[Sink]) -> None:
        """Start delivering; events emitted earlier are delivered first."""
        with self._order:
            self._deliveries = tuple(_Delivery(sink, self._early) for sink in sinks)

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
        with self._order:
            event = Event(datetime.now(timezone.utc), self._run_id, kind, job, attempt, engine, clean)
            if not self._deliveries:
                self._early.append(event)
            for delivery in self._deliveries:
                delivery.emit(event)

    def close(self) -> None:
        """Deliver what is left and close the sinks."""
        with self._order:
            deliveries, self._deliveries = self._deliveries, ()
        _finish(deliveries)


@contextmanager
def waited_for_last(sinks: Sequence[Sink]) -> Iterator[Sequence[Sink]]:
    """These sinks, each behind a queue that takes every event at once; the end of `with` waits until they have all.

    So a hub that is closed inside does not wait for somebody who reads along, and what comes before the end of `with`
    (such as the release of a lease) does not either.
    """
    deliveries = [_Delivery(sink) for sink in sinks]
    try:
        yield deliveries
    finally:
        _finish(deliveries)


class _Delivery:
    """The events on their way to one sink. It is a sink itself, which never keeps anybody waiting."""

    def __init__(self, sink: Sink, early: Iterable[Event] = ()) -> None:
        self._sink = sink
        self._queue: SimpleQueue[Event | None] = SimpleQueue()
        for event in early:
            self._queue.put(event)
        self._thread = Thread(target=self._deliver, name=f"events to {type(sink).__name__}", daemon=True)
        self._thread.start()

    def emit(self, event: Event) -> None:
        if not (event.is_progress and self._queue.qsize() >= BACKLOG):
            self._queue.put(event)

    def close(self) -> None:
        """Close the sink once it has every event."""
        self._queue.put(None)

    def wait(self) -> None:
        self._thread.join()

    def _deliver(self) -> None:
        try:
            while (event := self._queue.get()) is not None:
                self._sink.emit(event)
        except Exception as error:
            # A sink only reports; if one fails, the run must go on.
            log.warning("%s gets no more events of this run: %s", type(self._sink).__name__, error)
        try:
            self._sink.close()
        except Exception as error:
            log.warning("%s could not be closed: %s", type(self._sink).__name__, error)


def _finish(deliveries: Sequence[_Delivery]) -> None:
    for delivery in deliveries:
        delivery.close()
    for delivery in deliveries:
        delivery.wait()
