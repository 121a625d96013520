"""Which ticks run and which are left out, by a clock that stands still."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from catchment.run.schedule.calendar import Calendar
from catchment.run.schedule.due import Due, sort_out
from catchment.spec.model import Catchup

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
