"""Where downloads are kept between runs, and how they get there: one process at a time, whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event

from catchment.errors import Cancelled, SetupError

Tell = Callable[[str], None]
"""Takes one line of progress."""


def root() -> Path:
    """Catchment's directory in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "catchment"


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a lock among all processes of this machine; the system gives it back if we die."""
    directory = root()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = (directory / f"{name}.lock").open("a")
    except OSError as error:
        raise SetupError(
            f"the cache directory {directory} cannot be written: {error.strerror}",
            code="cache-not-writable",
            hint="make it writable, or point XDG_CACHE_HOME at a directory that is",
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_quietly(
    command: Sequence[str], cancelled: Event, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a program to its end and return its exit code and everything it printed; ends it when cancelled."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        try:
            while not _finished(process):
                if cancelled.is_set():
                    raise Cancelled("the installation of an engine's packages was stopped")
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
