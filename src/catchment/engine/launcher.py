"""Starts the worker process of an engine, exchanges messages with it, and leaves no process behind.

The worker has its own process group, so that Ctrl-C reaches only the launcher, and so that the worker and its JVM can
be killed together. If the launcher dies, even by SIGKILL, the worker sees its standard input close and ends itself and
its JVM.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, ClassVar, cast

from pydantic import ValidationError

from catchment import private_files
from catchment.engine import memory, protocol, wire
from catchment.engine.environment import Installed, environment
from catchment.engine.packages import install
from catchment.engine.pipes import InvalidMessage, LogFile, LogPump, Silence, lines
from catchment.engine.protocol import Alive, Command, Ending, Failed, Preparing, Ready, Reply, Residence, Start, Stop
from catchment.errors import Cancelled, CatchmentError, EngineLost, SetupError
from catchment.own_program import own_program
from catchment.plan.model import EnginePlan
from catchment.project.secrets import Redactor

Inbox = Callable[[str, Reply | EngineLost], None]

SILENCE_SECONDS = 30.0
"""A worker that sends nothing for this long, not even a heartbeat, hangs."""
RESIDENT_LOG_BYTES = 8 * 1024 * 1024
"""A log of this size of an engine that stays is kept once, and begun anew: it may stay for weeks."""
EXIT_SECONDS = 5.0
"""How long to wait for the exit code of a worker that has closed its output, or for a killed one to disappear."""


class EngineProcess:
    """One engine as its launcher sees it. Its replies are delivered to the inbox from a thread of their own."""

    is_chosen_late = False
    prefix: ClassVar[tuple[str, ...]] = ()
    """What its command begins with."""

    def __init__(
        self,
        engine: EnginePlan,
        *,
        log_dir: Path,
        secrets: tuple[str, ...],
        inbox: Inbox,
        command: Sequence[str] | None,
        residence: Residence | None = None,
    ) -> None:
        self.engine = engine
        self._residence = residence
        self.log_file = log_dir / f"engine-{engine.key}.log"
        self._secrets = secrets
        self._inbox = inbox
        self._command = command
        self._outbox: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._spawning = threading.Lock()
        self._asked_to_end = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run_engine, name=f"engine {engine.key}", daemon=True)

    @classmethod
    def start(
        cls,
        engine: EnginePlan,
        *,
        log_dir: Path,
        secrets: tuple[str, ...],
        inbox: Inbox,
        command: Sequence[str] | None = None,
        residence: Residence | None = None,
    ) -> EngineProcess:
        """Start an engine without waiting for it; `Ready`, `Failed` or `EngineLost` will arrive in the inbox."""
        process = cls(engine, log_dir=log_dir, secrets=secrets, inbox=inbox, command=command, residence=residence)
        process._thread.start()
        return process

    def send(self, command: Command) -> None:
        """Queue a command; never blocks. Commands to an engine that has ended are dropped."""
        self._outbox.put(command)

    def stop(self, grace: float) -> None:
        """Ask the engine to end, wait up to `grace` seconds, then kill it."""
        self._asked_to_end.set()
        self.send(Stop())
        if not self._ended.wait(grace):
            self.kill()

    def kill(self) -> None:
        """Kill the worker and its JVM now."""
        self._asked_to_end.set()
        with self._spawning:
            if self._process is not None and not self._ended.is_set():
                _kill_group(self._process)
        if threading.current_thread() is not self._thread:  # the inbox itself may call this
            self._ended.wait(EXIT_SECONDS)

    def _run_engine(self) -> None:
        try:
            installed = Installed() if self._command else install(self.engine, self._report, self._asked_to_end)
            with tempfile.TemporaryDirectory(prefix="catchment-", ignore_cleanup_errors=True) as scratch:
                self._serve(self._spawn(installed, scratch), installed, scratch)
        except Cancelled:
            pass  # stopped before it had started: nobody waits for an answer
        except CatchmentError as error:
            self._deliver(protocol.failure(error))
        except Exception as error:
            self._deliver(protocol.failure(_unexpected_failure(self.engine, error)))
        finally:
            self._ended.set()

    def _spawn(self, installed: Installed, scratch: str) -> subprocess.Popen[bytes]:
        command = (*self.prefix, *(self._command or own_program("catchment.worker.worker")))
        private_files.make_directory(self.log_file.parent)
        with self._spawning:
            if self._asked_to_end.is_set():
                raise Cancelled(f"engine {self.engine.key} was stopped before it had started")
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(
                    installed.spark_home,
                    installed.python_path,
                    self.engine.envs,
                    scratch,
                    self.engine.settings.pass_environment,
                ),
                cwd=self.engine.directory,
                start_new_session=True,
            )
        return self._process

    def _serve(self, process: subprocess.Popen[bytes], installed: Installed, scratch: str) -> None:
        stdin, stdout, stderr = (cast(IO[bytes], pipe) for pipe in (process.stdin, process.stdout, process.stderr))
        log_dir = str(self.log_file.parent)
        start = Start(
            self.engine, installed.jars, log_dir, scratch, self._secrets, installed.java_options, self._residence
        )
        threading.Thread(target=self._write, args=(stdin, start), daemon=True).start()
        with stdout, stderr:
            limit = RESIDENT_LOG_BYTES if self._residence else math.inf
            log = LogPump(stderr, LogFile(self.log_file, limit), Redactor(self._secrets))
            fault = self._listen(stdout)
            code = _reap(process, wait=fault is None)
            self._outbox.put(None)
            log.finish(EXIT_SECONDS)
        if not self._asked_to_end.is_set():
            self._inbox(self.engine.key, self._lost(fault, code, log.last_line, Path(scratch)))

    def _write(self, stdin: IO[bytes], start: Start) -> None:
        # A broken pipe is ignored here: the reading side notices that the worker has ended and reports it.
        with contextlib.suppress(OSError), stdin:
            command: Command | None = start
            while command is not None:
                stdin.write(wire.encode(command))
                stdin.flush()
                command = self._outbox.get()

    def _listen(self, stdout: IO[bytes]) -> Silence | InvalidMessage | None:
        """Deliver replies until the worker ends; returns the reason why it must be killed, if there is one."""
        try:
            for line in lines(stdout, SILENCE_SECONDS):
                self._handle_line(line)
        except (Silence, InvalidMessage) as fault:
            return fault
        return None

    def _handle_line(self, line: bytes) -> None:
        try:
            reply = wire.reply(line)
        except ValidationError as error:
            raise InvalidMessage(repr(line[:200].decode("utf-8", errors="replace"))) from error
        if isinstance(reply, Ready) and reply.version != protocol.VERSION:
            raise InvalidMessage(f"protocol version {reply.version}, expected {protocol.VERSION}")
        if isinstance(reply, Failed) and reply.attempt is None:
            self._asked_to_end.set()  # the failed start has been reported; the exit that follows must not be
        if isinstance(reply, Ending):
            self._asked_to_end.set()
        if not isinstance(reply, Alive):
            self._deliver(reply)

    def _report(self, message: str) -> None:
        self._deliver(Preparing(message))

    def _deliver(self, reply: Reply) -> None:
        self._inbox(self.engine.key, reply)

    def _lost(self, fault: Silence | InvalidMessage | None, code: int, last_line: str, scratch: Path) -> EngineLost:
        out_of_memory = isinstance(fault, Silence) and (scratch / memory.MARKER_FILE).exists()
        if out_of_memory or (fault is None and code == memory.EXIT_CODE):
            return memory.out_of_memory(self.engine, str(self.log_file))
        log_line = f"; the last line of its log is: {last_line[:300]}" if last_line else ""
        return EngineLost(
            f"engine {self.engine.key} {_end_reason(fault, code)}{log_line}",
            hint=f"read {self.log_file}. {_likely_cause(self.engine, fault)}",
        )


def _unexpected_failure(engine: EnginePlan, error: Exception) -> SetupError:
    """The error for an unexpected exception during the start; without it the caller would wait for ever."""
    return SetupError(
        f"engine {engine.key} could not be started: {error}",
        code="engine-not-started",
        hint="check that the log directory can be written and that the machine has memory and processes to spare",
        detail=traceback.format_exc(),
    )


class BackgroundProcess(EngineProcess):
    """An engine that lets all others on its machine go first; the JVM inherits that from the worker."""

    prefix = ("nice", "-n", "10") if shutil.which("nice") else ()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _reap(process: subprocess.Popen[bytes], *, wait: bool) -> int:
    """Kill what is left of the process group and return the worker's exit code."""
    if wait:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(EXIT_SECONDS)
    _kill_group(process)
    return process.wait()


def _likely_cause(engine: EnginePlan, fault: Silence | InvalidMessage | None) -> str:
    """The usual cause of an end without an explanation."""
    if isinstance(fault, Silence):
        return (
            "Java may be so short of memory that it only collects garbage: it has "
            f"{memory.amounts(engine)}; give it more, or run fewer jobs at once."
        )
    return (
        "An engine that is killed without a message has often used too much of the machine's memory: "
        f"lower {memory.DRIVER} or run fewer jobs at once."
    )


def _end_reason(fault: Silence | InvalidMessage | None, code: int) -> str:
    if isinstance(fault, Silence):
        return f"did not respond for {SILENCE_SECONDS:.0f} seconds"
    if fault is not None:
        return f"sent an invalid message: {fault}"
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
