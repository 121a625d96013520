"""Whether a process that the metastore names is still that process: by its number, its start, and its machine."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

from catchment.store.leases import ProcessIdentity
from catchment.store.services import SupervisorProcess

_ENDED = "ZX"
"""The states of a process that has ended and that nobody has asked about yet."""
_STATE, _START_TIME = 0, 19
"""Positions in `/proc/PID/stat`, counted after the name of the program."""


def identity() -> ProcessIdentity:
    """This process, as others on its machine can find it."""
    pid = os.getpid()
    return ProcessIdentity(_machine(), pid, _born(pid))


def this_process(owner: str) -> SupervisorProcess:
    """This process as the supervisor of a service."""
    me = identity()
    return SupervisorProcess(me.machine, me.pid, me.born, owner, socket.gethostname())


def is_here(process: ProcessIdentity) -> bool:
    """Whether the process was started on this machine since it was booted, so that its end can be seen from here."""
    return process.machine is not None and process.machine == _machine()


def is_elsewhere(process: SupervisorProcess) -> bool:
    """Whether the process was started on a machine of another name."""
    return process.host != socket.gethostname()


def is_gone(process: ProcessIdentity) -> bool:
    """Whether the process is known to have ended; False also if that cannot be told from here."""
    return is_here(process) and _born(process.pid) != process.born


def terminate(process: ProcessIdentity) -> None:
    """Send SIGTERM to the process if it is on this machine and alive."""
    if is_here(process) and not is_gone(process):
        with suppress(ProcessLookupError, PermissionError):  # of another user: the metastore asks it to stop
            os.kill(process.pid, signal.SIGTERM)


def _machine() -> str | None:
    """One boot of this machine, and the numbering of processes in it: containers of one host have their own."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return None  # not a Linux: leases alone tell who is alive


def _born(pid: int) -> int | None:
    """When a living process was started; None if there is none of this number."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[_STATE] in _ENDED else int(fields[_START_TIME])
