"""Ticks across the changes of clocks: exactly once each. No test waits: the time is given."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catchment.errors import Position
from catchment.run.schedule.calendar import Calendar, calendar_of
from catchment.spec.model import Schedule

HERE = Position("w.yaml", 1, 1)
BERLIN_SPRING = "2026-03-29"
BERLIN_AUTUMN = "2026-10-25"
NEW_YORK_SPRING = "2026-03-08"
NEW_YORK_AUTUMN = "2026-11-01"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def ticks_of_day(cron: str, zone: str, day: str) -> list[str]:
    """The ticks of one local day, as UTC times."""
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))
    end = start + timedelta(days=1)
    calendar = Calendar(cron, ZoneInfo(zone))
    before = start.astimezone(timezone.utc) - timedelta(seconds=1)
    found: list[str] = []
    for tick in calendar.after(before):
        if tick >= end.astimezone(timezone.utc):
            return found
        found.append(f"{tick:%H:%M}" if tick.second == 0 else f"{tick:%H:%M:%S}")
    return found


@pytest.mark.parametrize(
    ("zone", "cron", "day", "expected"),
    [
        # Spring: 02:00 to 03:00 is skipped. 02:30 moves to 03:30 CEST, which is 01:30 UTC.
        ("Europe/Berlin", "30 2 * * *", BERLIN_SPRING, ["01:30"]),
        ("Europe/Berlin", "0 2,3 * * *", BERLIN_SPRING, ["01:00"]),
        ("Europe/Berlin", "30 1-3 * * *", BERLIN_SPRING, ["00:30", "01:30"]),
        ("Europe/Berlin", "45 1 * * *", BERLIN_SPRING, ["00:45"]),
        ("Europe/Berlin", "*/30 2 * * *", BERLIN_SPRING, ["01:00", "01:30"]),
        # Autumn: 02:00 to 03:00 comes twice; the first counts, at 00:30 UTC.
        ("Europe/Berlin", "30 2 * * *", BERLIN_AUTUMN, ["00:30"]),
        ("Europe/Berlin", "30 1-3 * * *", BERLIN_AUTUMN, ["23:30", "00:30", "02:30"]),
        ("Europe/Berlin", "15 30 2 * * *", BERLIN_AUTUMN, ["00:30:15"]),
        ("America/New_York", "30 2 * * *", NEW_YORK_SPRING, ["07:30"]),
        ("America/New_York", "30 1 * * *", NEW_YORK_AUTUMN, ["05:30"]),
        ("America/New_York", "0 1,2 * * *", NEW_YORK_AUTUMN, ["05:00", "07:00"]),
        # Half an hour is skipped here: the tick of that hour comes all the same, and once.
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-04", ["15:45"]),
    ],
)
def test_a_time_that_clocks_skip_or_repeat_ticks_once(zone: str, cron: str, day: str, expected: list[str]) -> None:
    assert ticks_of_day(cron, zone, day) == expected


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize(
    ("berlin", "new_york", "hours"), [(BERLIN_SPRING, NEW_YORK_SPRING, 23), (BERLIN_AUTUMN, NEW_YORK_AUTUMN, 25)]
)
def test_what_ticks_every_hour_ticks_in_every_real_hour(zone: str, berlin: str, new_york: str, hours: int) -> None:
    day = berlin if zone == "Europe/Berlin" else new_york
    assert len(ticks_of_day("5 * * * *", zone, day)) == hours
    assert len(ticks_of_day("*/15 * * * *", zone, day)) == 4 * hours


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_a_daily_tick_comes_once_on_every_day_of_a_year(zone: str) -> None:
    for cron in ("30 2 * * *", "30 1 * * *", "0 0 * * *"):
        calendar = Calendar(cron, ZoneInfo(zone))
        days = [calendar.local(tick).date() for tick in islice(calendar.after(utc("2025-12-31 22:00")), 365)]
        assert len(set(days)) == 365


@settings(max_examples=60)
@given(
    change=st.sampled_from(
        [
            ("Europe/Berlin", "2026-03-29 01:00"),
            ("Europe/Berlin", "2026-10-25 01:00"),
            ("America/New_York", "2026-03-08 07:00"),
            ("America/New_York", "2026-11-01 06:00"),
        ]
    ),
    minutes=st.integers(-150, 150),
    cron=st.sampled_from(["30 2 * * *", "*/20 * * * *", "*/10 1-3 * * *", "0 2,3 * * *", "10 */2 * * *"]),
)
def test_where_one_begins_changes_nothing(change: tuple[str, str], minutes: int, cron: str) -> None:
    """Whoever looks from later on sees the ticks that were to come, no other and none less: so ticks have one name."""
    calendar = Calendar(cron, ZoneInfo(change[0]))
    moment = utc(change[1]) + timedelta(minutes=minutes)
    far = list(islice(calendar.after(moment - timedelta(days=2)), 400))
    ahead = [tick for tick in far if tick > moment]
    assert far == sorted(set(far))
    assert list(islice(calendar.after(moment), len(ahead))) == ahead


def test_seconds_come_first_in_a_cron_of_six_fields() -> None:
    calendar = Calendar("*/20 0 3 * * *", ZoneInfo("UTC"))
    ticks = list(islice(calendar.after(utc("2026-01-01 03:00:00")), 3))
    assert ticks == [utc("2026-01-01 03:00:20"), utc("2026-01-01 03:00:40"), utc("2026-01-02 03:00:00")]


def test_a_tick_is_later_than_the_moment_it_is_asked_from() -> None:
    calendar = Calendar("0 3 * * *", ZoneInfo("UTC"))
    just_before = utc("2026-01-01 02:59:59.999999")
    assert next(calendar.after(just_before)) == utc("2026-01-01 03:00")
    assert next(calendar.after(utc("2026-01-01 03:00"))) == utc("2026-01-02 03:00")


def test_there_is_no_tick_after_the_end() -> None:
    schedule = Schedule("0 3 * * *", HERE, "Europe/Berlin", end_on="2026-01-03T03:00:00.5+01:00")
    calendar = calendar_of(schedule)
    ticks = list(calendar.after(utc("2026-01-01 00:00")))
    assert ticks == [utc("2026-01-01 02:00"), utc("2026-01-02 02:00"), utc("2026-01-03 02:00")]


def test_a_schedule_without_a_zone_is_in_utc() -> None:
    assert next(calendar_of(Schedule("0 3 * * *", HERE)).after(utc("2026-07-01 00:00"))) == utc("2026-07-01 03:00")


def test_a_day_that_never_comes_has_no_tick() -> None:
    assert list(Calendar("0 0 30 2 *", ZoneInfo("UTC")).after(utc("2026-01-01 00:00"))) == []
