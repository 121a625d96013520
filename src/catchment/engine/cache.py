"""The user's cache of downloads, with locks between processes: a download is there whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event

from catchment import private_files
from catchment.errors import Cancelled, SetupError

Report = Callable[[str], None]
"""Called with one line of progress."""


def root() -> Path:
    """Catchment's directory in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "catchment"


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a lock between all processes of this machine; the system releases it if we die."""
    directory = root()
    try:
        private_files.make_directory(directory)
        lock = (directory / f"{name}.lock").open("a")
    except OSError as error:
        raise not_usable(error) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def not_usable(error: OSError) -> SetupError:
    """The error for a cache that this user may not use."""
    return SetupError(
        f"the cache directory {root()} cannot be used: {error.strerror}",
        code="cache-not-writable",
        hint="make it yours, or set XDG_CACHE_HOME to a directory that you may write",
    )


def run_quietly(
    command: Sequence[str], cancelled: Event, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a program and return its exit code and everything it printed; cancelling kills the program."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        try:
            while not _finished(process):
                if cancelled.is_set():
                    raise Cancelled("installing the packages of an engine was cancelled")
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        return process.returncode, output.read()


def _finished(process: subprocess.Popen[bytes]) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.2)
        return True
    return False
