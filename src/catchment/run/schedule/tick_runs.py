"""Supervises claimed ticks until they are settled: starts their runs, resumes runs that died, and reports results.

`look` does all of this, so that a tick is settled in the same way whether it was just claimed, or claimed by a
scheduler that was killed at any point.

Each run has its own process: a crash affects nothing else, the run can be stopped alone, and it continues if the
scheduler is killed. It leads its own session, so that Ctrl-C reaches only the scheduler.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

from catchment import private_files
from catchment.errors import LeaseHeld
from catchment.project.secrets import Redactor
from catchment.run.identity import log_directory
from catchment.run.notify.message import about_run
from catchment.run.notify.sending import Notifier
from catchment.run.results import ErrorReport, Run
from catchment.run.schedule.scheduled_workflows import ScheduledWorkflow, trouble
from catchment.run.schedule.tick_reports import TickReport, moment, report
from catchment.store import Store
from catchment.store.records import TickRecord
from catchment.store.runs import lease_name

MOST_STARTS = 3
"""A run whose process has died this often is not resumed again."""
LEASE_SECONDS = 10.0
LOG = "run.log"

Tell = Callable[[str], None]
Command = Callable[[ScheduledWorkflow, datetime], Sequence[str]]
"""The command that runs a tick of a workflow."""


class TickRuns:
    """The claimed ticks of one scheduler."""

    def __init__(
        self, store: Store, me: str, command: Command, *, tell: Tell, settled: Callable[[TickReport], None]
    ) -> None:
        self._store = store
        self._me = me
        self._command = command
        self._tell = tell
        self._settled = settled
        self._processes = RunProcesses()
        self._files: dict[str, ScheduledWorkflow] = {}
        self._mine: set[Key] = set()

    def __bool__(self) -> bool:
        """Whether any tick is unsettled or any process is alive."""
        return bool(self._mine) or self._processes.any_alive()

    def look(self, followed: Iterable[ScheduledWorkflow]) -> None:
        """Handle every unsettled tick of these workflows that is ours, or whose scheduler is dead."""
        self._files.update({each.workflow: each for each in followed})
        unsettled = self._store.ticks.unsettled(list(self._files))
        mine = [tick for tick in map(self._adopted, unsettled) if tick]
        for tick in mine:
            if not self._processes.alive(tick.key) and not tick.run_alive:
                self._start(tick)
        self._report({tick.key for tick in unsettled}, {tick.key for tick in mine})

    def tell_of(self, workflow: str, tick: datetime) -> None:
        """Report a tick that was settled without a run."""
        self._conclude((workflow, tick.timestamp()))

    def stop(self) -> bool:
        """Ask the runs to stop and wait for them; returns whether there were none."""
        idle = not self
        self._processes.ask()
        while self._processes.any_alive():
            time.sleep(0.1)
        for tick in self._store.ticks.unsettled(list(self._files)):
            # A run that is still alive is not our child: it continues, and the next scheduler is responsible for it.
            if tick.owner == self._me and not tick.run_alive:
                self._give_up(tick, "cancelled", "its scheduler was stopped")
        for key in sorted(self._mine):
            self._conclude(key)
        return idle

    def end(self, patience: float) -> None:
        """End the runs at once."""
        self._processes.end(patience)

    def _adopted(self, tick: TickRecord) -> TickRecord | None:
        """The tick if it is ours now, adopted from a dead scheduler if necessary."""
        if tick.owner != self._me:
            if tick.owner_alive or not self._store.ticks.adopt(tick, self._me):
                return None
            self._tell(f"{self._name(tick)}: its scheduler {tick.owner} is dead, this one has taken it over")
            tick = replace(tick, owner=self._me)
        self._mine.add(tick.key)
        return tick

    def _start(self, tick: TickRecord) -> None:
        followed = self._files[tick.workflow]
        if tick.asked:
            self._give_up(tick, "cancelled", tick.asked)
        elif tick.tries >= MOST_STARTS:
            self._give_up(tick, "failed", "its process died again and again", _died(tick))
        elif error := trouble(followed):
            self._give_up(tick, "failed", "its workflow cannot be run", error)
        elif self._store.ticks.tried(tick):
            self._tell(f"{self._name(tick)}: {'resuming' if tick.tries else 'starting'} run {tick.run_id}")
            log = log_directory(followed.project, str(tick.run_id)) / LOG
            self._processes.start(tick.key, self._command(followed, moment(tick.tick)), log)

    def _give_up(self, tick: TickRecord, outcome: str, reason: str, error: ErrorReport | None = None) -> None:
        """Settle a tick whose run no process executes; a process that wakes up later has lost the lease."""
        try:
            lease = self._store.leases.acquire(lease_name(str(tick.run_id)), self._me, LEASE_SECONDS)
        except LeaseHeld:
            return  # a process executes it after all
        hide = Redactor(self._files[tick.workflow].project.secrets)
        try:
            self._store.ticks.give_up(tick, lease, outcome, reason, hide.data(asdict(error)) if error else None)
        finally:
            self._store.leases.release(lease)
        if error is not None:
            self._notify(tick, error)

    def _notify(self, tick: TickRecord, error: ErrorReport) -> None:
        """Tell the hooks of a tick whose run could not tell them itself."""
        project, run_id = self._files[tick.workflow].project, str(tick.run_id)
        failed = Run(run_id, tick.workflow, "failed", tick.seconds, ())
        text = f"{self._name(tick)} failed: {error.message}"
        notifier = Notifier.of(project)
        notifier.send(about_run("run-failed", failed, project, text), notifier.on("run-failed"))

    def _report(self, unsettled: set[Key], mine: set[Key]) -> None:
        self._mine -= unsettled - mine  # another scheduler has adopted these
        for key in sorted(self._mine - unsettled):
            if not self._processes.alive(key):
                self._conclude(key)

    def _conclude(self, key: Key) -> None:
        record = self._store.ticks.find(*key)
        if record is not None and record.settled:
            self._settled(report(self._store, record))
        self._mine.discard(key)

    def _name(self, tick: TickRecord) -> str:
        local = self._files[tick.workflow].calendar.local(moment(tick.tick))
        return f"{tick.workflow}: tick {local:%Y-%m-%d %H:%M:%S %Z}"


def _died(tick: TickRecord) -> ErrorReport:
    return ErrorReport(
        code="run-died",
        message=f"the process of run {tick.run_id} was started {tick.tries} times and died each time",
        hint=f"`catchment logs {tick.run_id}` shows its output; then `catchment resume {tick.run_id}`",
    )


Key = tuple[str, float]


class RunProcesses:
    """Starts, watches and ends the processes of runs."""

    def __init__(self) -> None:
        self._processes: dict[Key, subprocess.Popen[bytes]] = {}

    def start(self, key: Key, command: Sequence[str], log: Path) -> None:
        """Start the process of a tick; its output is appended to a log."""
        private_files.make_directory(log.parent)
        private_files.make_file(log)
        with log.open("ab") as out:
            self._processes[key] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )

    def alive(self, key: Key) -> bool:
        """Whether the process of a tick is alive; one that has ended is forgotten."""
        process = self._processes.get(key)
        if process is None:
            return False
        if process.poll() is None:
            return True
        del self._processes[key]
        return False

    def any_alive(self) -> bool:
        """Whether any process is alive."""
        return any(self.alive(key) for key in list(self._processes))

    def ask(self) -> None:
        """Ask all processes to stop, as Ctrl-C does."""
        self._send(signal.SIGTERM)

    def end(self, patience: float) -> None:
        """Insist as a second Ctrl-C does, wait, and kill what is left; the engines end by themselves."""
        self._send(signal.SIGINT)
        until = time.monotonic() + patience
        while self.any_alive() and time.monotonic() < until:
            time.sleep(0.05)
        self._send(signal.SIGKILL)
        for process in self._processes.values():
            process.wait()

    def _send(self, number: int) -> None:
        for process in self._processes.values():
            _signal(process, number)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        if process.poll() is None:
            os.kill(process.pid, number)
