"""Hands a command over to a process that has loaded Catchment already. Loads nothing that takes time."""

from __future__ import annotations

import glob
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from catchment import handover

VERBS = (
    *("apply", "diff", "engines", "logs", "plan", "query", "recover", "resume", "run", "runs", "state", "table"),
    *("ticks", "validate", "writers"),
)
"""Verbs that do not need a terminal of their own and do not run for ever."""
PROJECT_FILE, HOME = "catchment.yaml", ".catchment"
PLACES = (f"engines/*/{handover.SOCKET}", f"environments/*/engines/*/{handover.SOCKET}")
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OWN_FILES = ("/dev/fd/", "/dev/tty", "/proc/self/", "/proc/thread-self/")
"""Paths that mean something else in another process."""
ANSWER_SECONDS = 5.0
"""How long the other process may take to accept a command."""
LOST = 1
"""The exit code of a command of which nobody knows how it has ended."""


def run(arguments: Sequence[str]) -> int | None:
    """Let another process run a command; returns its exit code, or None if no process does."""
    if not arguments or arguments[0] not in VERBS or any(own in each for each in arguments for own in OWN_FILES):
        return None
    try:
        directory = Path.cwd()
        for number in (0, 1, 2):
            os.fstat(number)
    except OSError:  # a directory that is gone, or a closed stream
        return None
    for path in _sockets(directory):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, connection.makefile("rb") as answers:
            if _is_accepted(connection, answers, path, arguments, directory):
                return _follow(connection, answers)
    return None


def _sockets(directory: Path) -> Iterator[Path]:
    """The sockets of the project that a directory belongs to."""
    places = (directory, *directory.parents)
    # Not pathlib, which raises in directories that may not be entered: the command itself has a message for that.
    root = next((each for each in places if os.path.exists(each / PROJECT_FILE)), directory)  # noqa: PTH110
    for place in PLACES:
        yield from (root / HOME / path for path in glob.iglob(place, root_dir=root / HOME))  # noqa: PTH207


def _is_accepted(
    connection: socket.socket, answers: BinaryIO, path: Path, arguments: Sequence[str], directory: Path
) -> bool:
    try:
        connection.settimeout(ANSWER_SECONDS)
        with handover.within(str(path)) as name:
            connection.connect(name)
        if _user_of(connection) != os.geteuid():
            return False
        connection.sendall(handover.token(path.parent))
        socket.send_fds(connection, [b"\n"], [0, 1, 2])
        connection.sendall(json.dumps(_request(arguments, directory)).encode() + b"\n")
        return answers.readline() == handover.ACCEPTED
    except (OSError, ValueError, KeyError, TypeError):  # it has just ended, it is busy, or its token cannot be read
        return False


def _request(arguments: Sequence[str], directory: Path) -> dict[str, object]:
    umask = os.umask(0)
    os.umask(umask)
    return {
        "surroundings": handover.surroundings(),
        "arguments": [sys.argv[0], *arguments],
        "directory": str(directory),
        "environment": dict(os.environ),
        "umask": umask,
    }


def _user_of(connection: socket.socket) -> int:
    """The user of the process at the other end."""
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(user)


def _follow(connection: socket.socket, answers: BinaryIO) -> int:
    """Begin the command, pass signals on to it and wait for its exit code. It ends if this process is killed."""

    def pass_on(number: int, _: FrameType | None) -> None:
        with suppress(OSError):
            connection.send(bytes([number]))

    connection.settimeout(None)
    # No signal may come before GO: the other process would not begin.
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    for number in PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    with suppress(OSError):
        connection.sendall(handover.GO)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        if line := answers.readline():
            return int(line)
    print("catchment: the process that ran this command was lost; nobody knows how the command ended", file=sys.stderr)
    return LOST
