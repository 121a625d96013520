"""Events as JSON lines in a file, for programs and for later."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from catchment.events.model import Event

_events: TypeAdapter[Event] = TypeAdapter(Event)


class JsonLines:
    """A sink that appends one line per event; a resumed run goes on in the same file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")

    def emit(self, event: Event) -> None:
        """Write one line, visible to readers at once."""
        self._file.write(_events.dump_json(event) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
