"""Identifies a process by its id, start time and machine, to tell whether it is still alive."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_ENDED = "ZX"
"""The states of a process that has ended but has not been reaped yet."""
_STATE, _START_TIME = 0, 19
"""Positions in `/proc/PID/stat`, counted after the name of the program."""


@dataclass(frozen=True)
class ProcessIdentity:
    """Identifies a process, so that others on its machine can tell whether it is still alive."""

    machine: str | None
    """Identifies one boot of a machine and the container on it; None if that is unknown."""
    pid: int
    born: int | None
    """When the process was started, in clock ticks since boot: a process that reuses the id has another value."""


def identity() -> ProcessIdentity:
    """The identity of this process."""
    pid = os.getpid()
    return ProcessIdentity(_machine(), pid, _born(pid))


def is_here(process: ProcessIdentity) -> bool:
    """Whether the process was started on this machine since its last boot, so that its end can be seen from here."""
    return process.machine is not None and process.machine == _machine()


def is_gone(process: ProcessIdentity) -> bool:
    """Whether the process is known to have ended; False if that cannot be seen from here."""
    return is_here(process) and _born(process.pid) != process.born


def send(process: ProcessIdentity, number: int) -> None:
    """Send a signal to the process if it is on this machine and alive."""
    if is_here(process) and not is_gone(process):
        with suppress(ProcessLookupError, PermissionError):  # owned by another user: the metastore asks it to stop
            os.kill(process.pid, number)


def _machine() -> str | None:
    """Identifies this boot of the machine and its process namespace: containers on one host have their own."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return None  # not Linux: only leases tell which processes are alive


def _born(pid: int) -> int | None:
    """When a live process was started; None if there is none with this id."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[_STATE] in _ENDED else int(fields[_START_TIME])
