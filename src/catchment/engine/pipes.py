"""The two output streams of a worker: replies, one per line, and the log."""

from __future__ import annotations

import io
import logging
import math
import os
import selectors
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from catchment import private_files
from catchment.project.secrets import Redactor

log = logging.getLogger(__name__)

LONGEST_REPLY = 256 * 1024 * 1024
LONGEST_LOG_LINE = 64 * 1024
CHUNK = 256 * 1024


class Silence(Exception):
    """The worker has sent nothing for too long."""


class InvalidMessage(Exception):
    """The worker has sent something that is not a valid message."""


class Readable(Protocol):
    """A pipe or a socket."""

    def fileno(self) -> int: ...


def lines(stream: Readable, patience: float) -> Iterator[bytes]:
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
    """Copies a stream to a log in a thread of its own, without secrets; remembers the last line.

    The stream is read to its end whatever happens to the file: an engine whose log nobody reads would stand still.
    """

    def __init__(
        self, stream: IO[bytes], log: LogFile, redactor: Redactor, see: Callable[[str], None] = lambda _: None
    ) -> None:
        self.last_line = ""
        self._redactor = redactor
        self._log = log
        self._see = see
        self._thread = threading.Thread(target=self._pump, args=(stream,), name=f"log {log.path.name}", daemon=True)
        self._thread.start()

    def _pump(self, stream: IO[bytes]) -> None:
        with stream:
            while raw := stream.readline(LONGEST_LOG_LINE):
                line = self._redactor.text(raw.decode("utf-8", errors="replace"))
                self.last_line = line.strip() or self.last_line
                self._see(line)
                self._log.write(line)
        self._log.close()

    def finish(self, patience: float) -> None:
        """Wait until the stream has ended and the file is complete."""
        self._thread.join(patience)


class LogFile:
    """A log that is written as far as possible. What the disk does not take is left out, and the log says so.

    Where `limit` is given, a log of so many bytes is kept as `NAME.1`, in place of the one before, and begun anew.
    """

    def __init__(self, path: Path, limit: float = math.inf) -> None:
        self.path = path
        self._limit = limit
        self._file: io.FileIO | None = None
        self._missing = 0
        self._lock = threading.Lock()
        with suppress(OSError):  # tried again when there is something to write
            self._append(b"")

    def write(self, line: str) -> None:
        """Append a line; never raises."""
        with self._lock:
            gap = f"[{self._missing} lines are missing here: the log could not be written]\n" if self._missing else ""
            try:
                self._append((gap + line).encode())
                self._missing = 0
            except OSError as error:
                if not self._missing:
                    log.warning("the log %s cannot be written, lines are missing: %s", self.path, error.strerror)
                self._missing += 1

    def close(self) -> None:
        """Close the file; writing opens it again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _append(self, data: bytes) -> None:
        if self._file is not None and self._file.tell() >= self._limit:
            self._close()
            self.path.replace(older_log(self.path))
        if self._file is None:
            private_files.make_file(self.path)
            self._file = io.FileIO(self.path, "a")
        while data:  # a disk that is nearly full takes a part
            data = data[self._file.write(data) or 0 :]


def older_log(path: Path) -> Path:
    """Where a log of limited size is kept when a new one is begun."""
    return path.with_name(f"{path.name}.1")
