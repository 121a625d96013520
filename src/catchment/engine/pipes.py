"""The two streams that come out of a worker: replies, line by line, and everything else, which is its log."""

from __future__ import annotations

import io
import os
import selectors
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from catchment.project.secrets import Redactor

LONGEST_REPLY = 256 * 1024 * 1024
LONGEST_LOG_LINE = 64 * 1024
CHUNK = 256 * 1024


class Silence(Exception):
    """The other side has sent nothing for too long."""


class Nonsense(Exception):
    """The other side has sent something that is no message."""


def lines(stream: IO[bytes], patience: float) -> Iterator[bytes]:
    """Yield whole lines until the stream ends; raise Silence when none of it moves for `patience` seconds."""
    pending = io.BytesIO()
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        # What has already arrived is always read before the clock is looked at: a launcher that was itself paused
        # does not take its own absence for the worker's.
        while selector.select(patience):
            chunk = os.read(stream.fileno(), CHUNK)
            if not chunk:
                return
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                yield pending.getvalue() + line
                pending = io.BytesIO()
            pending.write(rest)
            if pending.tell() > LONGEST_REPLY:
                raise Nonsense(f"a line of more than {LONGEST_REPLY} bytes")
    raise Silence


class LogPump:
    """Copies a stream into a log file in a thread of its own, with secrets blacked out; remembers the last line."""

    def __init__(self, stream: IO[bytes], path: Path, redactor: Redactor) -> None:
        self.path = path
        self.last_line = ""
        self._redactor = redactor
        self._thread = threading.Thread(target=self._pump, args=(stream,), name=f"log {path.name}", daemon=True)
        self._thread.start()

    def _pump(self, stream: IO[bytes]) -> None:
        with self.path.open("a", encoding="utf-8", buffering=1) as log:
            while raw := stream.readline(LONGEST_LOG_LINE):
                line = self._redactor.text(raw.decode("utf-8", errors="replace"))
                log.write(line)
                self.last_line = line.strip() or self.last_line

    def finish(self, patience: float) -> None:
        """Wait until the stream has ended and everything is in the file."""
        self._thread.join(patience)
