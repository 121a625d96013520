"""Looks after the command of one service: runs it, passes on requests to stop, starts it again, records its end.

The child's standard input is a pipe that is never written to: when the supervisor is killed, the pipe ends, and so does
the child (`catchment.cli.supervised`).
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, cast

from catchment.engine.pipes import LogFile, LogPump
from catchment.errors import LeaseLost, MetastoreUnavailable
from catchment.own_program import own_program
from catchment.project.secrets import Redactor
from catchment.run.notify.dead_services import DeadServices
from catchment.run.notify.message import about_service
from catchment.run.notify.sending import Notifier
from catchment.run.services.restarts import Restarts
from catchment.store import Store
from catchment.store.holding import HeldLease, Repeated
from catchment.store.leases import Lease
from catchment.store.services import Outcome, ServiceOrder

PROGRAM = own_program("catchment.cli.supervised")
LOOK_SECONDS = 0.2
"""How often the child is looked at."""
ASKED_SECONDS = 1.0
"""How often the metastore is asked whether somebody wants the service to stop."""
OUTPUT_SECONDS = 5.0
"""How long the last output of a child that has ended is waited for."""
NOT_STARTED = 126
"""The exit code of a command that could not be started; shells use the same."""
ERROR_MARK = "error["
"""What the first line of an error begins with."""
LONGEST_ERROR = 500
"""So many characters of an error are recorded; the log has all of it."""


@dataclass(frozen=True)
class Ended:
    """How one process of the command has ended."""

    exit_code: int
    seconds: float
    error: str | None


class Supervisor:
    """Runs the command of one service until it has ended for good, as the holder of the service's lease."""

    def __init__(
        self,
        order: ServiceOrder,
        store: Store,
        heartbeat: HeldLease,
        log: LogFile,
        redactor: Redactor,
        *,
        program: Sequence[str] = PROGRAM,
        notifier: Notifier | None = None,
    ) -> None:
        self._order, self._store, self._heartbeat = order, store, heartbeat
        self._log, self._redactor = log, redactor
        self._program = program
        self._notifier = notifier
        self._others = DeadServices(store, notifier) if notifier else None
        self._asked = 0
        self._last_line: str | None = None
        self._last_error: str | None = None

    def stop(self) -> None:
        """Ask the command to stop, as Ctrl-C does."""
        self._asked = max(self._asked, 1)

    def insist(self) -> None:
        """The same; if it was asked before, ask it to stop at once."""
        self._asked += 1

    def run(self) -> None:
        """Run the command, again and again if its policy says so, and record how it ended."""
        watch = Repeated(f"looking whether {self._order.name} is to stop", self._look, ASKED_SECONDS)
        try:
            self._run_to_the_end()
        except LeaseLost as lost:
            self._tell(f"this supervisor ends: {lost.message}")
        finally:
            watch.stop()
            self._log.close()

    def _run_to_the_end(self) -> None:
        restarts = Restarts(self._order.restart)
        ended = self._run_once()
        while self._waits_to_restart(ended, restarts):
            self._record(lambda lease: self._store.services.restarted(lease, self._name))
            ended = self._run_once()
        self._conclude(ended, restarts)

    def _waits_to_restart(self, ended: Ended, restarts: Restarts) -> bool:
        """Wait until the command is to be started again; False if it is not."""
        pause = None if self._asked else restarts.pause(ended.exit_code, ended.seconds)
        if pause is None:
            return False
        self._record(lambda lease: self._store.services.failed(lease, self._name, ended.exit_code, ended.error))
        self._tell(f"ended with exit code {ended.exit_code}; starting again in {pause:g} s")
        until = time.monotonic() + pause
        while not self._asked and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            self._leave_if_replaced()
        return not self._asked

    def _run_once(self) -> Ended:
        self._last_line = self._last_error = None
        began = time.monotonic()
        try:
            child = self._start()
        except OSError as error:
            self._tell(f"the command could not be started: {error}")
            return Ended(NOT_STARTED, 0.0, f"the command could not be started: {error}")
        pump = LogPump(cast(IO[bytes], child.stdout), self._log, self._redactor, self._see)
        self._await(child)
        pump.finish(OUTPUT_SECONDS)
        cast(IO[bytes], child.stdin).close()
        return self._ended(child.returncode, time.monotonic() - began)

    def _ended(self, code: int, seconds: float) -> Ended:
        if code < 0:
            return Ended(128 - code, seconds, f"the command was killed by {_signal_name(-code)}")
        return Ended(code, seconds, self._last_error or self._last_line)

    def _start(self) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            (*self._program, *self._order.command),
            cwd=self._order.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        command = self._redactor.text(shlex.join(self._order.command))
        self._tell(f"started: catchment {command} (process {child.pid})")
        return child

    def _await(self, child: subprocess.Popen[bytes]) -> None:
        """Wait for the end of the child, and pass on every request to stop: the second one as a second Ctrl-C."""
        passed_on = 0
        while child.poll() is None:
            if self._asked > passed_on:
                child.send_signal(signal.SIGINT if passed_on else signal.SIGTERM)
                passed_on += 1
            time.sleep(LOOK_SECONDS)
            self._leave_if_replaced()

    def _leave_if_replaced(self) -> None:
        """Stop if somebody else holds the lease now: two processes must not do the same work under one name."""
        try:
            self._heartbeat.check()
        except LeaseLost:
            self.stop()

    def _conclude(self, ended: Ended, restarts: Restarts) -> None:
        outcome: Outcome = "stopped" if self._asked else "failed" if ended.exit_code else "succeeded"
        error = ended.error if outcome == "failed" else None
        why = f", after {restarts.quick} quick failures" if restarts.exhausted else ""
        self._tell(f"{outcome} with exit code {ended.exit_code}{why}")
        self._record(lambda lease: self._finish(lease, outcome, ended.exit_code, error))
        if outcome == "failed" and self._notifier and self._order.matters:
            place = self._notifier.root, self._notifier.environment
            self._notifier.send(about_service(self._name, outcome, error, *place), self._notifier.on("service-dead"))

    def _finish(self, lease: Lease, outcome: Outcome, exit_code: int, error: str | None) -> None:
        if not self._store.services.finish(lease, self._name, outcome, exit_code, error):
            self._tell("this was not recorded: another supervisor has taken the service over")

    def _look(self) -> None:
        if not self._asked and self._store.services.is_stop_requested(self._name):
            self.stop()
        if self._others:
            self._others.look()

    def _record(self, step: Callable[[Lease], None]) -> None:
        """Write something down. If the metastore stays away the service goes on: what it does matters more."""
        try:
            step(self._heartbeat.lease)
        except MetastoreUnavailable as error:
            self._tell(f"this was not recorded: {error.message}")

    def _see(self, line: str) -> None:
        text = line.strip()[:LONGEST_ERROR]
        self._last_line = text or self._last_line
        if ERROR_MARK in text:
            self._last_error = text

    def _tell(self, line: str) -> None:
        now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        self._log.write(f"[{now} service {self._name}] {line}\n")

    @property
    def _name(self) -> str:
        return self._order.name


def _signal_name(number: int) -> str:
    return next((each.name for each in signal.Signals if each == number), f"signal {number}")
