"""Our side of the process boundary: starts a worker, talks to it, and leaves no process behind.

The worker leads a process group of its own, so that Ctrl-C reaches us alone and so that the worker and its JVM can be
ended together. If we die, even by SIGKILL, the worker sees its standard input close and ends itself and its JVM.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, cast

from pydantic import ValidationError

from catchment.engine import memory, protocol
from catchment.engine.environment import Installed, environment
from catchment.engine.packages import install
from catchment.engine.pipes import LogPump, Nonsense, Silence, lines
from catchment.engine.protocol import Alive, Command, Failed, Preparing, Ready, Reply, Start, Stop
from catchment.errors import Cancelled, CatchmentError, EngineLost, SetupError
from catchment.plan.model import EnginePlan
from catchment.project.secrets import Redactor

Inbox = Callable[[str, Reply | EngineLost], None]

SILENCE_SECONDS = 30.0
"""A worker that sends nothing, not even a heartbeat, for this long has hung."""
FAREWELL_SECONDS = 5.0
"""How long an ended worker may take to leave its exit code, and a killed one to vanish."""


class EngineProcess:
    """One engine, seen from outside. Everything it has to say arrives in the inbox, from a thread of its own."""

    def __init__(
        self,
        engine: EnginePlan,
        *,
        log_dir: Path,
        secrets: tuple[str, ...],
        inbox: Inbox,
        command: Sequence[str] | None,
    ) -> None:
        self.engine = engine
        self.log_file = log_dir / f"engine-{engine.key}.log"
        self._secrets = secrets
        self._inbox = inbox
        self._command = command
        self._outbox: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._spawning = threading.Lock()
        self._asked_to_end = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._live, name=f"engine {engine.key}", daemon=True)

    @classmethod
    def start(
        cls,
        engine: EnginePlan,
        *,
        log_dir: Path,
        secrets: tuple[str, ...],
        inbox: Inbox,
        command: Sequence[str] | None = None,
    ) -> EngineProcess:
        """Begin to start an engine; `Ready`, `Failed` or `EngineLost` will arrive in the inbox."""
        process = cls(engine, log_dir=log_dir, secrets=secrets, inbox=inbox, command=command)
        process._thread.start()
        return process

    def send(self, command: Command) -> None:
        """Queue a command; never blocks. Commands to an engine that has ended are dropped."""
        self._outbox.put(command)

    def stop(self, grace: float) -> None:
        """Ask the engine to end, wait up to `grace` seconds, then end it."""
        self._asked_to_end.set()
        self.send(Stop())
        if not self._ended.wait(grace):
            self.kill()

    def kill(self) -> None:
        """End the worker and its JVM now."""
        self._asked_to_end.set()
        with self._spawning:
            if self._process is not None and not self._ended.is_set():
                _kill_group(self._process)
        if threading.current_thread() is not self._thread:  # the inbox may well be where we are called from
            self._ended.wait(FAREWELL_SECONDS)

    def _live(self) -> None:
        try:
            installed = Installed() if self._command else install(self.engine, self._tell, self._asked_to_end)
            with tempfile.TemporaryDirectory(prefix="catchment-", ignore_cleanup_errors=True) as scratch:
                self._converse(self._spawn(installed, scratch), installed, scratch)
        except Cancelled:
            pass  # stopped before it had started: whoever asked for that waits for no answer
        except CatchmentError as error:
            self._deliver(protocol.failure(error))
        except Exception as error:
            self._deliver(protocol.failure(_unforeseen(self.engine, error)))
        finally:
            self._ended.set()

    def _spawn(self, installed: Installed, scratch: str) -> subprocess.Popen[bytes]:
        command = self._command or (sys.executable, "-m", "catchment.worker.worker")
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        with self._spawning:
            if self._asked_to_end.is_set():
                raise Cancelled(f"engine {self.engine.key} was stopped before it had started")
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(installed.spark_home, installed.python_path, self.engine.envs, scratch),
                start_new_session=True,
            )
        return self._process

    def _converse(self, process: subprocess.Popen[bytes], installed: Installed, scratch: str) -> None:
        stdin, stdout, stderr = (cast(IO[bytes], pipe) for pipe in (process.stdin, process.stdout, process.stderr))
        start = Start(
            self.engine, installed.jars, str(self.log_file.parent), scratch, self._secrets, installed.java_options
        )
        threading.Thread(target=self._write, args=(stdin, start), daemon=True).start()
        with stdout, stderr:
            log = LogPump(stderr, self.log_file, Redactor(self._secrets))
            fault = self._listen(stdout)
            code = _bury(process, wait=fault is None)
            self._outbox.put(None)
            log.finish(FAREWELL_SECONDS)
        if not self._asked_to_end.is_set():
            self._inbox(self.engine.key, self._lost(fault, code, log.last_line, Path(scratch)))

    def _write(self, stdin: IO[bytes], start: Start) -> None:
        # A broken pipe is no news here: the reading side sees the worker's end and says so.
        with contextlib.suppress(OSError), stdin:
            command: Command | None = start
            while command is not None:
                stdin.write(protocol.encode(command))
                stdin.flush()
                command = self._outbox.get()

    def _listen(self, stdout: IO[bytes]) -> Silence | Nonsense | None:
        """Deliver replies until the worker ends (None) or must be ended (the reason)."""
        try:
            for line in lines(stdout, SILENCE_SECONDS):
                self._take(line)
        except (Silence, Nonsense) as fault:
            return fault
        return None

    def _take(self, line: bytes) -> None:
        try:
            reply = protocol.replies.validate_json(line)
        except ValidationError as error:
            raise Nonsense(repr(line[:200].decode("utf-8", errors="replace"))) from error
        if isinstance(reply, Ready) and reply.version != protocol.VERSION:
            raise Nonsense(f"protocol version {reply.version}, expected {protocol.VERSION}")
        if isinstance(reply, Failed) and reply.attempt is None:
            self._asked_to_end.set()  # the failed start is the whole story; its exit is no further news
        if not isinstance(reply, Alive):
            self._deliver(reply)

    def _tell(self, message: str) -> None:
        self._deliver(Preparing(message))

    def _deliver(self, reply: Reply) -> None:
        self._inbox(self.engine.key, reply)

    def _lost(self, fault: Silence | Nonsense | None, code: int, last_line: str, scratch: Path) -> EngineLost:
        choked = isinstance(fault, Silence) and (scratch / memory.MARK).exists()
        if choked or (fault is None and code == memory.EXIT_CODE):
            return memory.out_of_memory(self.engine, str(self.log_file))
        words = f"; the last line of its log is: {last_line[:300]}" if last_line else ""
        return EngineLost(
            f"engine {self.engine.key} {_ending(fault, code)}{words}",
            hint=f"read {self.log_file}. {_suspicion(self.engine, fault)}",
        )


def _unforeseen(engine: EnginePlan, error: Exception) -> SetupError:
    """Nobody may wait for ever for an engine whose start broke in a way that has no name."""
    return SetupError(
        f"engine {engine.key} could not be started: {error}",
        code="engine-not-started",
        hint="check that the log directory can be written and that the machine has memory and processes to spare",
        detail=traceback.format_exc(),
    )


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _bury(process: subprocess.Popen[bytes], *, wait: bool) -> int:
    """End what is left of the group and return the worker's own exit code."""
    if wait:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(FAREWELL_SECONDS)
    _kill_group(process)
    return process.wait()


def _suspicion(engine: EnginePlan, fault: Silence | Nonsense | None) -> str:
    """What is often behind an end that nobody explains."""
    if isinstance(fault, Silence):
        return (
            "A Java that is short of memory does nothing but look for some: it has "
            f"{memory.amounts(engine)}; give it more, or run fewer jobs at once."
        )
    return (
        "An engine that is killed without a word has often used too much memory of the machine: "
        f"lower {memory.DRIVER} or run fewer jobs at once."
    )


def _ending(fault: Silence | Nonsense | None, code: int) -> str:
    if isinstance(fault, Silence):
        return f"gave no sign of life for {SILENCE_SECONDS:.0f} seconds"
    if fault is not None:
        return f"sent something that is not a reply: {fault}"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended by itself with exit code {code}"
