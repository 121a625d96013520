"""Points in time: every way to write them is read alike, by every Python that Catchment runs on."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from catchment.timestamps import as_written, duration, milliseconds, milliseconds_or_ago, moment

UTC, TWO = timezone.utc, timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-03-01", datetime(2026, 3, 1)),
        ("2026-03-01 12:30", datetime(2026, 3, 1, 12, 30)),
        ("2026-03-01T12:30:45", datetime(2026, 3, 1, 12, 30, 45)),
        ("2026-03-01t12:30:45z", datetime(2026, 3, 1, 12, 30, 45, tzinfo=UTC)),
        (" 2026-03-01T12:30:45Z\n", datetime(2026, 3, 1, 12, 30, 45, tzinfo=UTC)),
        ("2026-03-01 12:30:45+02:00", datetime(2026, 3, 1, 12, 30, 45, tzinfo=TWO)),
        ("2026-03-01 12:30:45.5", datetime(2026, 3, 1, 12, 30, 45, 500000)),
        ("2026-03-01 12:30:45.123", datetime(2026, 3, 1, 12, 30, 45, 123000)),
        ("2026-03-01 12:30:45,123456", datetime(2026, 3, 1, 12, 30, 45, 123456)),
        ("2026-03-01T12:30:45.123456789Z", datetime(2026, 3, 1, 12, 30, 45, 123456, tzinfo=UTC)),
        ("2026-03-01T12:30:45.25+02:00", datetime(2026, 3, 1, 12, 30, 45, 250000, tzinfo=TWO)),
    ],
)
def test_a_time_is_read_as_it_is_written(text: str, time: datetime) -> None:
    found = as_written(text)
    assert (found, found.utcoffset()) == (time, time.utcoffset())


@pytest.mark.parametrize(
    "text", ["", "yesterday", "Z", "2026-13-01", "2026-03-01T25:00:00Z", "2026-03-01T12:00:00+99:00", "12:30:45"]
)
def test_what_is_no_time(text: str) -> None:
    for read in (as_written, moment, milliseconds):
        with pytest.raises(ValueError, match=r"isoformat|must be|timedelta"):
            read(text)


def test_a_time_without_a_zone_is_utc() -> None:
    assert moment("2026-03-01 12:00:00") == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert moment("2026-03-01 12:00:00+02:00") == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert milliseconds("1970-01-01 00:00:01.5") == milliseconds("1970-01-01T02:00:01.500+02:00") == 1500


@pytest.mark.parametrize(
    ("text", "seconds"), [("7d", 604800), ("1h30m", 5400), ("250ms", 0.25), ("12", 12), ("1.5h", 5400)]
)
def test_a_duration(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "7", "d", "-7d", "7 d", "7d ago", "soon"])
def test_what_is_neither_a_moment_nor_a_time_ago(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|is not a duration"):
        milliseconds_or_ago(text)


def test_how_long_ago_is_a_moment_too() -> None:
    week = timedelta(days=7).total_seconds() * 1000
    before = datetime.now(UTC).timestamp() * 1000 - week
    assert before - 1 <= milliseconds_or_ago("7d") <= datetime.now(UTC).timestamp() * 1000 - week
    assert milliseconds_or_ago("2026-03-01") == milliseconds("2026-03-01")
