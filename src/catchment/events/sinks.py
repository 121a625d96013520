"""Sinks that write events to a file of JSON lines and to the metastore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from catchment import private_files
from catchment.events.hub import Event

if TYPE_CHECKING:
    from catchment.store.events import Events
    from catchment.store.leases import Lease

_events: TypeAdapter[Event] = TypeAdapter(Event)


class JsonLines:
    """A sink that appends one line per event; a resumed run continues the same file."""

    def __init__(self, path: Path) -> None:
        private_files.make_file(path)
        self._file = path.open("ab")

    def emit(self, event: Event) -> None:
        """Write one line and flush it."""
        self._file.write(_events.dump_json(event) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class MetastoreSink:
    """A sink that stores a run's events, except progress, which is soon outdated."""

    def __init__(self, events: Events, lease: Lease) -> None:
        self._events = events
        self._lease = lease

    def emit(self, event: Event) -> None:
        """Store one event."""
        if event.is_progress:
            return
        from catchment.store.records import EventRecord  # loads the metastore's library, which is slow

        record = EventRecord(event.at.timestamp(), event.kind, event.job, event.attempt, event.engine, dict(event.data))
        self._events.append(self._lease, event.run_id, record)

    def close(self) -> None:
        """Nothing to close."""
