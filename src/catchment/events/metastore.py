"""Events into the metastore, so that a run's story can be read on any machine."""

from __future__ import annotations

from catchment.events.model import Event
from catchment.store.events import Events
from catchment.store.leases import Lease
from catchment.store.records import EventRecord


class MetastoreSink:
    """A sink that keeps a run's events, except the ticks of progress, which are stale when written."""

    def __init__(self, events: Events, lease: Lease) -> None:
        self._events = events
        self._lease = lease

    def emit(self, event: Event) -> None:
        """Add one event to the run's story."""
        if event.kind == "job-note" and event.data.get("event") == "progress":
            return
        record = EventRecord(event.at.timestamp(), event.kind, event.job, event.attempt, event.engine, dict(event.data))
        self._events.append(self._lease, event.run_id, [record])

    def close(self) -> None:
        """Nothing is held open."""
