"""Runs workflows by their schedules until it is stopped or no tick is left. Several schedulers may share schedules.

Everything that must survive this process is in the metastore, written in this order: the claim of a tick with the id
of its run, the fact that a start of the run was tried, and the run itself. Whatever is killed in between, the tick
stays unsettled, and its owner, or another scheduler if the owner is dead, continues from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from threading import Event

from catchment.errors import CatchmentError
from catchment.run.identity import owner
from catchment.run.notify.dead_services import DeadServices
from catchment.run.notify.sending import Notifier
from catchment.run.schedule.due import Pending, ScheduleProgress
from catchment.run.schedule.scheduled_workflows import NoSchedule, ScheduledWorkflow, check_together
from catchment.run.schedule.tick_reports import TickReport, moment
from catchment.run.schedule.tick_runs import Command, Tell, TickRuns
from catchment.run_model import new_run_id
from catchment.store import Store
from catchment.store.holding import HeldLease
from catchment.store.ticks import Claim, scheduler_lease


@dataclass(frozen=True)
class Pace:
    """How long things may take, in seconds."""

    lease: float = 20.0
    """A scheduler whose lease was not renewed for this long is dead."""
    late: float = 10.0
    """A tick that no scheduler has claimed for this long was missed."""
    look: float = 0.5
    """How often the scheduler checks for work."""
    end: float = 10.0
    """How long runs may take to end when they are stopped at once."""


class Scheduler:
    """A scheduler for workflows that `check_together` accepted."""

    def __init__(
        self,
        followed: Sequence[ScheduledWorkflow],
        store: Store,
        command: Command,
        *,
        tell: Tell,
        settled: Callable[[TickReport], None],
        pace: Pace | None = None,
    ) -> None:
        self._store = store
        self._tell = tell
        self._pace = pace or Pace()
        self._me = owner()
        self._tick_runs = TickRuns(store, self._me, command, tell=tell, settled=settled)
        self._services = DeadServices(store, Notifier.of(followed[0].project))
        self._trouble: str | None = None
        self._schedules = [self._progress_of(each) for each in followed]

    def run(self, stop: Event) -> bool:
        """Follow the schedules until the end; returns whether no run was active then."""
        with HeldLease.acquire(self._store.leases, scheduler_lease(self._me), self._me, self._pace.lease):
            try:
                while not stop.is_set() and not self._is_over():
                    self._look_patiently()
                    stop.wait(self._pause())
                return self._tick_runs.stop()
            except KeyboardInterrupt:
                self._tick_runs.end(self._pace.end)
                raise

    def _progress_of(self, followed: ScheduledWorkflow) -> ScheduleProgress:
        progress = ScheduleProgress(followed, self._decided(followed))
        self._announce(progress)
        return progress

    def _decided(self, followed: ScheduledWorkflow) -> datetime:
        now = datetime.now(timezone.utc).timestamp()
        return moment(self._store.ticks.follow(followed.workflow, followed.calendar.rule, now))

    def _announce(self, progress: ScheduleProgress) -> None:
        coming = next(progress.followed.calendar.after(datetime.now(timezone.utc)), None)
        tail = f"next tick {progress.clock(coming)}" if coming else "no tick is left"
        self._tell(f"{progress.workflow}: {progress.followed.schedule.cron}: {tail}")

    def _is_over(self) -> bool:
        return all(progress.is_over for progress in self._schedules) and not self._tick_runs

    def _pause(self) -> float:
        now = datetime.now(timezone.utc)
        waits = [(progress.next - now).total_seconds() for progress in self._schedules if progress.next]
        return max(min([self._pace.look, *waits]), 0.0)

    def _look_patiently(self) -> None:
        """Look for work. If the metastore does not answer, the scheduler goes on and tries again."""
        try:
            self._look()
        except CatchmentError as error:
            if error.message != self._trouble:
                self._tell(f"trying again: {error.message}")
            self._trouble = error.message
            for progress in self._schedules:
                progress.rewind()
        else:
            self._trouble = None

    def _look(self) -> None:
        for progress in self._schedules:
            if progress.changed():
                self._read_again(progress)
        followed = [progress.followed for progress in self._schedules]
        self._tick_runs.look(followed)
        self._services.look()
        now = datetime.now(timezone.utc)
        decided = [self._follow(progress, now) for progress in self._schedules]
        if any(decided):
            self._tick_runs.look(followed)

    def _read_again(self, progress: ScheduleProgress) -> None:
        others = [each for each in self._schedules if each is not progress]
        try:
            found = progress.followed.again()
            check_together([*(each.followed for each in others), found])
        except NoSchedule:
            self._tell(f"{progress.workflow}: {progress.followed.file} has no schedule now; waiting until it has one")
            progress.pause()
        except CatchmentError as error:
            self._tell(f"{progress.workflow}: {progress.followed.file} has an error now: {error.message}")
        else:
            self._go_on(progress, found)

    def _go_on(self, progress: ScheduleProgress, found: ScheduledWorkflow) -> None:
        if found.workflow == progress.workflow:
            progress.take(found, self._since(progress, found))
            self._announce(progress)
        else:
            self._schedules = [self._progress_of(found) if each is progress else each for each in self._schedules]

    def _since(self, progress: ScheduleProgress, found: ScheduledWorkflow) -> datetime:
        """From when ticks count: none was missed before the current rule, or while there was no schedule."""
        decided = self._decided(found)
        if progress.paused:
            now = datetime.now(timezone.utc)
            self._store.ticks.pass_over(progress.workflow, now.timestamp())
            return now
        return progress.since if found.calendar.rule == progress.followed.calendar.rule else decided

    def _follow(self, progress: ScheduleProgress, now: datetime) -> bool:
        """Claim the ticks that are due; returns whether any was decided."""
        if progress.paused:
            return False
        late = timedelta(seconds=self._pace.late)
        due = progress.due(now, late)
        if due.passed_over:
            first, catchup = progress.clock(due.passed_over), progress.followed.schedule.catchup
            self._tell(f"{progress.workflow}: ticks since {first} were missed and are not run (catchup: {catchup})")
            if not due.catch_up:  # otherwise the claim of a later tick records it
                self._store.ticks.pass_over(progress.workflow, (now - late).timestamp())
        waiting = len(progress.pending)
        while progress.pending and self._is_decided(progress, progress.pending[0]):
            progress.pending.popleft()
        return len(progress.pending) < waiting

    def _is_decided(self, progress: ScheduleProgress, pending: Pending) -> bool:
        """Claim a tick; returns whether it is decided now, by this scheduler or another."""
        busy = progress.while_busy(pending)
        now = datetime.now(timezone.utc)
        claim = Claim(progress.workflow, pending.tick.timestamp(), self._me, new_run_id(now), busy)
        if progress.superseded:
            if self._store.ticks.drop(claim, "a later tick took its place before it began"):
                self._tick_runs.tell_of(progress.workflow, pending.tick)
            return True
        answer = self._store.ticks.claim(claim)
        if answer == "skipped":
            self._tick_runs.tell_of(progress.workflow, pending.tick)
        return answer != "busy"
