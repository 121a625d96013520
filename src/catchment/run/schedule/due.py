"""Which ticks of a schedule are due, missed or waiting."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile

from catchment.run.schedule.calendar import Calendar
from catchment.run.schedule.scheduled_workflows import ScheduledWorkflow, Stamp, stamp_of
from catchment.spec.model import Catchup, Concurrency
from catchment.store.ticks import WhileBusy


@dataclass(frozen=True)
class Due:
    """The ticks between two moments, sorted by what to do about them."""

    on_time: tuple[datetime, ...] = ()
    catch_up: tuple[datetime, ...] = ()
    """Missed ticks that are run late, oldest first."""
    passed_over: datetime | None = None
    """The first of the missed ticks that are not run."""


def sort_out(calendar: Calendar, since: datetime, now: datetime, *, catchup: Catchup, late: timedelta) -> Due:
    """Sort the ticks after `since` up to `now`; a tick older than `late` was missed."""
    edge = max(since, now - late)
    on_time = _between(calendar, edge, now)
    if catchup == "none":  # there may be very many: they are not counted
        first = next(calendar.after(since), None)
        return Due(on_time, passed_over=first if first and first <= edge else None)
    missed = _between(calendar, since, edge)
    made_up = missed if catchup == "all" else missed[-1:]
    return Due(on_time, made_up, passed_over=missed[0] if len(made_up) < len(missed) else None)


def _between(calendar: Calendar, since: datetime, until: datetime) -> tuple[datetime, ...]:
    return tuple(takewhile(lambda tick: tick <= until, calendar.after(since)))


_INSTANT = timedelta(microseconds=1)
_WHILE_BUSY: dict[Concurrency, WhileBusy] = {"Allow": "start", "Forbid": "skip", "Replace": "replace"}


@dataclass(frozen=True)
class Pending:
    """A tick that is due and not claimed yet."""

    tick: datetime
    in_line: bool = False
    """Whether it was missed, or comes after a missed one: then it waits for earlier ticks, whatever the policy is."""


@dataclass(eq=False)
class ScheduleProgress:
    """How far a scheduler has followed one schedule."""

    followed: ScheduledWorkflow
    since: datetime
    """Ticks up to this moment were processed."""
    pending: deque[Pending] = field(default_factory=deque)
    next: datetime | None = None
    stamp: Stamp | None = None
    paused: bool = False
    """The file has no schedule at the moment."""

    def __post_init__(self) -> None:
        self.stamp = self.followed.stamp
        self.next = next(self.followed.calendar.after(self.since), None)

    @property
    def workflow(self) -> str:
        return self.followed.workflow

    @property
    def is_over(self) -> bool:
        """Whether no tick is left to come."""
        return self.next is None and not self.pending and not self.paused

    def changed(self) -> bool:
        """Whether the file has changed since it was last read."""
        stamp = stamp_of(self.followed.file)
        changed, self.stamp = stamp != self.stamp, stamp
        return changed

    def take(self, followed: ScheduledWorkflow, since: datetime) -> None:
        """Continue with the current content of the file; ticks up to `since` are ignored."""
        self.followed = followed
        self.since = since
        self.paused = False
        self.next = next(followed.calendar.after(self.since), None)

    def pause(self) -> None:
        """Stop ticking until the file has a schedule again; pending ticks wait too."""
        self.paused = True
        self.next = None

    def due(self, now: datetime, late: timedelta) -> Due:
        """The ticks since the last call; they become pending."""
        if self.next is None or now < self.next:
            return Due()
        calendar, catchup = self.followed.calendar, self.followed.schedule.catchup
        due = sort_out(calendar, self.since, now, catchup=catchup, late=late)
        self.since = now
        self.next = next(calendar.after(now), None)
        in_line = bool(due.catch_up) or any(each.in_line for each in self.pending)
        self.pending += [Pending(tick, in_line) for tick in (*due.catch_up, *due.on_time)]
        return due

    def rewind(self) -> None:
        """Forget pending ticks, so that they are sorted again; by then they may have been missed."""
        if self.pending:
            self.since = self.pending[0].tick - _INSTANT
            self.next = self.pending[0].tick
            self.pending.clear()

    @property
    def superseded(self) -> bool:
        """Whether a later tick replaces the first pending one before it began."""
        replaces = self.followed.schedule.concurrency == "Replace"
        return replaces and len(self.pending) > 1 and not self.pending[0].in_line

    def while_busy(self, pending: Pending) -> WhileBusy:
        """What happens to a tick while an earlier one is unfinished."""
        return "wait" if pending.in_line else _WHILE_BUSY[self.followed.schedule.concurrency]

    def clock(self, tick: datetime) -> str:
        """A tick in the schedule's time zone."""
        return f"{self.followed.calendar.local(tick):%Y-%m-%d %H:%M:%S %Z}"
