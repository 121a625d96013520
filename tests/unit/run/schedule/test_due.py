"""Which ticks are due, missed or pending, by a clock that stands still."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from catchment.errors import Position
from catchment.project.model import Engine
from catchment.project.model import Project as Settings
from catchment.run.schedule.calendar import Calendar, calendar_of
from catchment.run.schedule.due import Due, Pending, ScheduleProgress, sort_out
from catchment.run.schedule.scheduled_workflows import ScheduledWorkflow
from catchment.spec.model import Catchup, Concurrency, Schedule

HOURLY = Calendar("0 * * * *", ZoneInfo("UTC"))
LATE = timedelta(seconds=10)


def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2026, 5, 4, hour, minute, second, tzinfo=timezone.utc)


def due(since: datetime, now: datetime, catchup: Catchup = "none") -> Due:
    return sort_out(HOURLY, since, now, catchup=catchup, late=LATE)


@pytest.mark.parametrize("catchup", ["none", "last", "all"])
def test_a_tick_that_has_just_come_is_run(catchup: Catchup) -> None:
    assert due(at(2, 30), at(3, 0, 5), catchup) == Due((at(3),))
    assert due(at(3), at(3, 59), catchup) == Due()


def test_missed_ticks_are_left_out_made_up_for_or_the_last_one_is() -> None:
    assert due(at(1, 30), at(5, 0, 3)) == Due((at(5),), passed_over=at(2))
    assert due(at(1, 30), at(5, 0, 3), "last") == Due((at(5),), (at(4),), passed_over=at(2))
    assert due(at(1, 30), at(5, 0, 3), "all") == Due((at(5),), (at(2), at(3), at(4)))


def test_one_missed_tick_is_the_last_and_all_of_them() -> None:
    assert due(at(3, 30), at(4, 30), "last") == due(at(3, 30), at(4, 30), "all") == Due((), (at(4),))
    assert due(at(3, 30), at(4, 30)) == Due(passed_over=at(4))


def test_where_missed_ends_and_on_time_begins() -> None:
    assert due(at(3, 30), at(4, 0, 9)).on_time == (at(4),)
    assert due(at(3, 30), at(4, 0, 10)) == Due(passed_over=at(4))


def test_years_of_missed_seconds_take_no_time_to_leave_out() -> None:
    busy = Calendar("* * * * * *", ZoneInfo("Europe/Berlin"))
    since = at(0).replace(year=2000)
    found = sort_out(busy, since, at(1), catchup="none", late=LATE)
    assert (len(found.on_time), found.passed_over) == (10, since + timedelta(seconds=1))


def progress(concurrency: Concurrency = "Allow", catchup: Catchup = "none") -> ScheduleProgress:
    """A schedule that ticks every hour, looked at up to half past one."""
    schedule = Schedule("0 * * * *", Position("w.yaml", 1, 1), "UTC", concurrency, catchup=catchup)
    project = Settings(Path(), None, "sqlite:///x", {}, {"default": Engine("default")})
    return ScheduleProgress(
        ScheduledWorkflow(Path("w.yaml"), "w", project, schedule, calendar_of(schedule), None), at(1, 30)
    )


def test_a_tick_is_due_once() -> None:
    hourly = progress()
    assert hourly.due(at(1, 59), LATE).on_time == ()
    assert hourly.due(at(2, 0, 1), LATE).on_time == (at(2),)
    assert hourly.due(at(2, 0, 2), LATE).on_time == ()
    assert (list(hourly.pending), hourly.next) == ([Pending(at(2))], at(3))


def test_ticks_that_come_while_others_are_made_up_for_join_the_line() -> None:
    hourly = progress("Replace", "all")
    hourly.due(at(3, 30), LATE)
    hourly.due(at(4, 0, 1), LATE)
    assert list(hourly.pending) == [Pending(at(hour), in_line=True) for hour in (2, 3, 4)]
    assert not hourly.superseded
    assert hourly.while_busy(hourly.pending[-1]) == "wait"


def test_a_tick_that_waits_to_replace_a_run_gives_way_to_a_later_one() -> None:
    hourly = progress("Replace")
    hourly.due(at(2, 0, 1), LATE)
    assert (hourly.superseded, hourly.while_busy(hourly.pending[0])) == (False, "replace")
    hourly.due(at(3, 0, 1), LATE)
    assert hourly.superseded


def test_after_trouble_a_tick_is_on_time_or_was_missed() -> None:
    hourly = progress()
    hourly.due(at(2, 0, 1), LATE)
    hourly.rewind()
    assert hourly.due(at(2, 0, 9), LATE).on_time == (at(2),)
    hourly.rewind()
    assert hourly.due(at(2, 30), LATE).passed_over == at(2)
    assert not hourly.pending
    hourly.rewind()
    assert hourly.next == at(3)
