"""The processes of the runs that a scheduler has started.

Each run has a process of its own: one that crashes, leaks or is killed takes nothing with it, it can be stopped alone,
and it goes on when the scheduler is killed. It leads a session of its own, so that Ctrl-C reaches the scheduler alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

Key = tuple[str, float]


class Children:
    """Starts, watches and ends them."""

    def __init__(self) -> None:
        self._processes: dict[Key, subprocess.Popen[bytes]] = {}

    def start(self, key: Key, command: Sequence[str], log: Path) -> None:
        """Start the process of a tick; what it says is appended to a log."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            self._processes[key] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )

    def alive(self, key: Key) -> bool:
        """Whether the process of a tick lives; one that ended is forgotten."""
        process = self._processes.get(key)
        if process is None:
            return False
        if process.poll() is None:
            return True
        del self._processes[key]
        return False

    def any_alive(self) -> bool:
        """Whether any of them lives."""
        return any(self.alive(key) for key in list(self._processes))

    def ask(self) -> None:
        """Ask all of them to stop, as Ctrl-C does; asked again, they end at once."""
        for process in self._processes.values():
            _signal(process, signal.SIGTERM)

    def end(self, patience: float) -> None:
        """Ask once more, wait, and kill those that are left; their engines notice by themselves."""
        self.ask()
        until = time.monotonic() + patience
        while self.any_alive() and time.monotonic() < until:
            time.sleep(0.05)
        for process in self._processes.values():
            _signal(process, signal.SIGKILL)
            process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        if process.poll() is None:
            os.kill(process.pid, number)
