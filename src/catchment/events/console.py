"""The console: live rows on a terminal, plain lines elsewhere; always on stderr, because stdout carries the answer."""

from __future__ import annotations

import sys
from typing import TextIO

from catchment.events.model import Event, Sink
from catchment.events.plain import PlainLines


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
