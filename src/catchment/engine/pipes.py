"""The two output streams of a worker: replies, one per line, and the log."""

from __future__ import annotations

import io
import os
import selectors
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from catchment import private_files
from catchment.project.secrets import Redactor

LONGEST_REPLY = 256 * 1024 * 1024
LONGEST_LOG_LINE = 64 * 1024
CHUNK = 256 * 1024


class Silence(Exception):
    """The worker has sent nothing for too long."""


class InvalidMessage(Exception):
    """The worker has sent something that is not a valid message."""


def lines(stream: IO[bytes], patience: float) -> Iterator[bytes]:
    """Yield whole lines until the stream ends; raise Silence if nothing arrives for `patience` seconds."""
    pending = io.BytesIO()
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        # What has already arrived is always read before the time-out counts: a launcher that was itself paused must
        # not conclude that the worker was silent.
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
                raise InvalidMessage(f"a line of more than {LONGEST_REPLY} bytes")
    raise Silence


class LogPump:
    """Copies a stream to a log file in a thread of its own, without secrets; remembers the last line."""

    def __init__(self, stream: IO[bytes], path: Path, redactor: Redactor) -> None:
        self.path = path
        self.last_line = ""
        self._redactor = redactor
        self._thread = threading.Thread(target=self._pump, args=(stream,), name=f"log {path.name}", daemon=True)
        self._thread.start()

    def _pump(self, stream: IO[bytes]) -> None:
        private_files.make_file(self.path)
        with self.path.open("a", encoding="utf-8", buffering=1) as log:
            while raw := stream.readline(LONGEST_LOG_LINE):
                line = self._redactor.text(raw.decode("utf-8", errors="replace"))
                log.write(line)
                self.last_line = line.strip() or self.last_line

    def finish(self, patience: float) -> None:
        """Wait until the stream has ended and the file is complete."""
        self._thread.join(patience)
