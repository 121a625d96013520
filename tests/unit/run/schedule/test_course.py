"""Where a scheduler stands with one schedule: what waits, in which line, and what is looked at anew after trouble."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from catchment.errors import Position
from catchment.project.model import Engine
from catchment.project.model import Project as Settings
from catchment.run.schedule.calendar import calendar_of
from catchment.run.schedule.due import Pending, ScheduleProgress
from catchment.run.schedule.workflows import ScheduledWorkflow
from catchment.spec.model import Catchup, Concurrency, Schedule

LATE = timedelta(seconds=10)


def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2026, 5, 4, hour, minute, second, tzinfo=timezone.utc)


def course(concurrency: Concurrency = "Allow", catchup: Catchup = "none") -> ScheduleProgress:
    """A schedule that ticks every hour, looked at up to half past one."""
    schedule = Schedule("0 * * * *", Position("w.yaml", 1, 1), "UTC", concurrency, catchup=catchup)
    project = Settings(Path(), None, "sqlite:///x", {}, {"default": Engine("default")})
    return ScheduleProgress(
        ScheduledWorkflow(Path("w.yaml"), "w", project, schedule, calendar_of(schedule), None), at(1, 30)
    )


def test_a_tick_is_due_once() -> None:
    hourly = course()
    assert hourly.due(at(1, 59), LATE).on_time == ()
    assert hourly.due(at(2, 0, 1), LATE).on_time == (at(2),)
    assert hourly.due(at(2, 0, 2), LATE).on_time == ()
    assert (list(hourly.pending), hourly.next) == ([Pending(at(2))], at(3))


def test_ticks_that_come_while_others_are_made_up_for_join_the_line() -> None:
    hourly = course("Replace", "all")
    hourly.due(at(3, 30), LATE)
    hourly.due(at(4, 0, 1), LATE)
    assert list(hourly.pending) == [Pending(at(hour), in_line=True) for hour in (2, 3, 4)]
    assert not hourly.superseded
    assert hourly.while_busy(hourly.pending[-1]) == "wait"


def test_a_tick_that_waits_to_replace_a_run_gives_way_to_a_later_one() -> None:
    hourly = course("Replace")
    hourly.due(at(2, 0, 1), LATE)
    assert (hourly.superseded, hourly.while_busy(hourly.pending[0])) == (False, "replace")
    hourly.due(at(3, 0, 1), LATE)
    assert hourly.superseded


def test_after_trouble_a_tick_is_on_time_or_was_missed() -> None:
    hourly = course()
    hourly.due(at(2, 0, 1), LATE)
    hourly.rewind()
    assert hourly.due(at(2, 0, 9), LATE).on_time == (at(2),)
    hourly.rewind()
    assert hourly.due(at(2, 30), LATE).passed_over == at(2)
    assert not hourly.pending
    hourly.rewind()
    assert hourly.next == at(3)
