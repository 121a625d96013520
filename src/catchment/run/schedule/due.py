"""Which ticks are due, and which were missed: a decision that needs nothing but a clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile

from catchment.run.schedule.calendar import Calendar
from catchment.spec.model import Catchup


@dataclass(frozen=True)
class Due:
    """What is to be done about the ticks between two moments."""

    on_time: tuple[datetime, ...] = ()
    catch_up: tuple[datetime, ...] = ()
    """Ticks that were missed and are made up for, oldest first."""
    passed_over: datetime | None = None
    """The first of the ticks that were missed and are not made up for."""


def sort_out(calendar: Calendar, since: datetime, now: datetime, *, catchup: Catchup, late: timedelta) -> Due:
    """Sort the ticks after `since` up to `now`; a tick that is `late` by so much was missed."""
    edge = max(since, now - late)
    on_time = _between(calendar, edge, now)
    if catchup == "none":  # they may be very many: not counted
        first = next(calendar.after(since), None)
        return Due(on_time, passed_over=first if first and first <= edge else None)
    missed = _between(calendar, since, edge)
    made_up = missed if catchup == "all" else missed[-1:]
    return Due(on_time, made_up, passed_over=missed[0] if len(made_up) < len(missed) else None)


def _between(calendar: Calendar, since: datetime, until: datetime) -> tuple[datetime, ...]:
    return tuple(takewhile(lambda tick: tick <= until, calendar.after(since)))
