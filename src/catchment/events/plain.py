"""The story as plain lines, one per event, each with the number of its job: for pipes, files and CI."""

from __future__ import annotations

from typing import TextIO

from catchment.events.model import Event
from catchment.events.rows import Rows
from catchment.events.words import sentence


class PlainLines:
    """A sink that prints lines such as `[1/2] vendor-one: started`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rows = Rows()

    def emit(self, event: Event) -> None:
        """Print the event if it is worth a line."""
        self._rows.apply(event)
        told = sentence(event)
        if told is not None:
            print(self._subject(event) + told, file=self._stream, flush=True)

    def close(self) -> None:
        """The stream is not ours to close."""

    def _subject(self, event: Event) -> str:
        row = self._rows.jobs.get(event.job or "")
        if row is None:
            return ""
        total = len(self._rows.jobs)
        return f"[{row.number:>{len(str(total))}}/{total}] {row.name}: "
