"""What a command and a process that takes it over have to agree on. Loads nothing that takes time.

A process that has loaded Catchment already can run a command at once: it forks, and the child gets the arguments, the
environment, the working directory and the standard streams of the command. Everything else that makes a difference
must be the same in both processes (`surroundings`).
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOCKET = "commands"
"""The name of the socket, in the directory of a resident engine."""
ABOUT = "resident.json"
"""The name of the file beside it that tells of the engine, with the token that clients must know."""
ACCEPTED, GO = b"accepted\n", b"\0"
"""The answer to a request, and the byte that begins the command. Whoever gave up waiting sends no such byte."""
LONGEST_PATH = 100
"""Addresses of sockets have little more room than this."""
_NAMESPACES = ("mnt", "net", "pid", "user", "uts", "ipc")
_LIMITS = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
_LIBRARIES = ("site-packages", "dist-packages")
"""The names of directories whose time changes when a package is installed."""
_OF_PYTHON = ("PYTHON", "LC_", "LANG")
"""Variables that Python reads when it starts begin with these."""


def surroundings() -> dict[str, object]:
    """What a command cannot take along to another process; as JSON has it."""
    return {
        "python": sys.executable,
        "code": code(),
        "user": [*os.getresuid(), *os.getresgid(), *sorted(os.getgroups())],
        "limits": {name: list(resource.getrlimit(getattr(resource, name))) for name in _LIMITS},
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        "cores": sorted(os.sched_getaffinity(0)),
        "namespaces": [str(Path(f"/proc/self/ns/{name}").readlink()) for name in _NAMESPACES],
        "variables": {name: value for name, value in os.environ.items() if name.startswith(_OF_PYTHON)},
    }


def token(directory: Path) -> bytes:
    """What a client of the resident engine in a directory must know; raises if no engine is found there."""
    about = json.loads((directory / ABOUT).read_bytes())
    return str(about["token"]).encode()


def code() -> str:
    """Which Catchment this is, by its files, which change under a checkout, and by the packages beside it."""
    libraries = [(path, Path(path).stat().st_mtime_ns) for path in sys.path if path.endswith(_LIBRARIES)]
    found = libraries + sorted(_python_files(str(Path(__file__).parent)))
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def _python_files(directory: str) -> Iterator[tuple[str, int, int]]:
    # pathlib takes several times as long, and every command does this.
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _python_files(entry.path)
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_mtime_ns, status.st_size


@contextmanager
def within(path: str) -> Iterator[str]:
    """A name of a socket that is short enough: the path, or one through its directory."""
    if len(os.fsencode(path)) <= LONGEST_PATH:
        yield path
        return
    directory = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{Path(path).name}"
    finally:
        os.close(directory)
