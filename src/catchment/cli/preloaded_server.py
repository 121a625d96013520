"""A process that has loaded Catchment and runs commands at once: `python -m catchment.cli.preloaded_server SOCKET`.

It forks for each command. The child takes over the standard streams, the environment and the working directory of the
command, and is the command from then on. This process itself loads and forks, and does nothing else, so that it has no
threads and no connections that a fork would break.

It ends when its standard input ends, as soon as the commands that it has begun have ended.
"""

from __future__ import annotations

import atexit
import gc
import hmac
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from catchment import handover
from catchment.cli.preloaded_client import VERBS

MODULES = (
    *("catchment.run", "catchment.run.lake", "catchment.run.execution", "catchment.run.inspection"),
    *("catchment.run.engine_list", "catchment.run.run_history", "catchment.run.run_logs", "catchment.run.recovery"),
    *("catchment.run.residents.choosing", "catchment.run.residents.control", "catchment.run.schedule.tick_reports"),
    *("catchment.plan.preparation", "catchment.sql_parser", "catchment.store", "catchment.events.console"),
    *("catchment.spec.workflow_file", "catchment.run.table_activity", "catchment.store.sqlite"),
)
"""What verbs load when they are called."""
REQUEST_SECONDS = 10.0
BACKLOG = 64
ACCEPT_SECONDS = 0.5
"""The pause after a connection that could not be accepted."""


@dataclass(frozen=True)
class Command:
    """A command that this process is to run."""

    connection: socket.socket
    streams: tuple[int, ...]
    request: Mapping[str, Any]


class Server:
    """Forks for each command that arrives, and reports the exit codes."""

    def __init__(self, path: str, surroundings: Mapping[str, object]) -> None:
        self._surroundings = surroundings
        self._token = handover.token(Path(path).parent)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with suppress(FileNotFoundError):
            Path(path).unlink()
        with handover.within(path) as name:
            self._listener.bind(name)
        self._listener.listen(BACKLOG)
        self._connections: dict[int, socket.socket] = {}
        """The connections of commands that run, by process."""
        self._woken, waking = os.pipe()
        for end in (self._woken, waking):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waking)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> Command | None:
        """Serve until standard input ends; returns the command in a child that is to run one."""
        with selectors.DefaultSelector() as ready:
            for source in (self._listener, self._woken, 0):
                ready.register(source, selectors.EVENT_READ)
            is_needed = True
            while is_needed or self._connections:
                for awake in {key.fileobj for key, _ in ready.select()}:
                    if awake is self._listener and is_needed:
                        command = self._fork()
                        if command is not None:
                            return command
                    elif awake == self._woken:
                        self._reap()
                    elif awake == 0 and not os.read(0, 1):
                        is_needed = False
                        ready.unregister(0)
                        ready.unregister(self._listener)
                        self._listener.close()
        return None

    def _fork(self) -> Command | None:
        """The command, in the child that is to run it."""
        try:
            connection, _ = self._listener.accept()
        except OSError:  # too many open files: commands that end will close some
            time.sleep(ACCEPT_SECONDS)
            return None
        try:
            child = os.fork()
        except OSError:  # too many processes: the client runs the command itself
            connection.close()
            return None
        if child:
            self._connections[child] = connection
            return None
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._listener.close()
        for other in self._connections.values():
            other.close()
        self._connections.clear()
        command = self._accepted(connection)
        if command is None:
            sys.exit(0)
        return command

    def _accepted(self, connection: socket.socket) -> Command | None:
        """The command that a client asks for; None if it is not to be run here."""
        try:
            connection.settimeout(REQUEST_SECONDS)
            if not hmac.compare_digest(connection.recv(len(self._token)), self._token):
                return None
            _, streams, _, _ = socket.recv_fds(connection, 1, 3)
            with connection.makefile("rb") as lines:
                request = json.loads(lines.readline())
            if len(streams) != 3 or request["surroundings"] != self._surroundings:
                return None
            connection.sendall(handover.ACCEPTED)
            if connection.recv(1) != handover.GO:
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        connection.settimeout(None)
        return Command(connection, tuple(streams), request)

    def _reap(self) -> None:
        """Report the exit codes of commands that have ended."""
        with suppress(BlockingIOError):
            while os.read(self._woken, 1024):
                pass
        while self._connections:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            connection = self._connections.pop(child)
            with suppress(OSError), connection:
                connection.sendall(f"{_exit_code(status)}\n".encode())


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def become(command: Command) -> None:
    """Make this process the one that its client would be."""
    os.setsid()
    for ignored in (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):  # by the service that started this process
        signal.signal(ignored, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(command.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(command.request["directory"])
    os.umask(command.request["umask"])
    os.environ.clear()
    os.environ.update(command.request["environment"])
    time.tzset()
    sys.argv = command.request["arguments"]
    sys.stdin = open(0, encoding=sys.stdin.encoding, errors=sys.stdin.errors, closefd=False)  # noqa: SIM115
    threading.Thread(target=_obey, args=(command.connection,), name="client", daemon=True).start()


def _obey(connection: socket.socket) -> None:
    """Deliver the signals that the client receives; its end is the end of the command."""
    while numbers := connection.recv(1):
        os.kill(os.getpid(), numbers[0])
    os.kill(os.getpid(), signal.SIGKILL)


def end_with(command: Callable[[], None]) -> NoReturn:
    """Run a command and end as Python does, but without taking apart what was loaded.

    That would copy the memory which this process shares with the one that it was forked from, and takes longer than
    many commands. multiprocessing ends the processes that it forks in the same way.
    """
    code: object = 0
    try:
        command()
    except SystemExit as ended:
        code = ended.code or 0
    if not isinstance(code, int):
        sys.exit(str(code))
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the threads that Python would wait for
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads any more; the command has reported what it could
            stream.flush()
    os._exit(code)


def preload() -> None:
    """Load what the verbs need, and make what takes long to make."""
    from catchment.cli.program import VERBS as ALL
    from catchment.engine import wire

    for module in (*(ALL[verb].target.partition(":")[0] for verb in VERBS), *MODULES):
        importlib.import_module(module)
    wire.prepare()


def main() -> None:
    """Serve commands; in a child, run one."""
    from catchment.cli.program import NO_PLUGINS, main

    os.environ.setdefault(*NO_PLUGINS)
    surroundings = handover.surroundings()  # before the code is loaded, which may change later
    preload()
    gc.collect()
    gc.freeze()  # otherwise the first collection of a child would copy everything
    command = Server(sys.argv[1], surroundings).run()
    if command is not None:
        become(command)
        end_with(main)


if __name__ == "__main__":
    main()
