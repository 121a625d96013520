"""The console: live rows on a terminal, plain lines elsewhere; always on stderr, because stdout carries the answer."""

from __future__ import annotations

import sys
from typing import TextIO

from catchment.events.model import Event, Sink
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


class Console:
    """A sink for people."""

    def __init__(self, stream: TextIO | None = None, *, live: bool | None = None) -> None:
        stream = stream or sys.stderr
        self._sink = _live_rows(stream) if (stream.isatty() if live is None else live) else PlainLines(stream)

    def emit(self, event: Event) -> None:
        """Show the event."""
        self._sink.emit(event)

    def close(self) -> None:
        """Leave the terminal in order."""
        self._sink.close()


def _live_rows(stream: TextIO) -> Sink:
    from rich.console import Console as RichConsole

    from catchment.events.live import LiveRows

    return LiveRows(RichConsole(file=stream, highlight=False))
