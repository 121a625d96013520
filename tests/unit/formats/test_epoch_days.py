from __future__ import annotations

from datetime import date

import pytest

from catchment.formats.epoch_days import date_text, days_of


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (11_016, "2000-02-29"),
        (date.max.toordinal() - date(1970, 1, 1).toordinal(), "9999-12-31"),
        (2_932_897, "10000-01-01"),
        (date.min.toordinal() - date(1970, 1, 1).toordinal(), "0001-01-01"),
        (-719_163, "0000-12-31"),
        (-719_528, "0000-01-01"),
        (-719_529, "-0001-12-31"),
        (2**31 - 1, "5881580-07-11"),
    ],
)
def test_dates_of_any_year(days: int, text: str) -> None:
    assert (date_text(days), days_of(text)) == (text, days)


def test_every_day_of_the_calendar_of_python() -> None:
    first = date(1970, 1, 1).toordinal()
    for ordinal in range(1, date.max.toordinal(), 997):
        text = date.fromordinal(ordinal).isoformat()
        assert (date_text(ordinal - first), days_of(text)) == (text, ordinal - first)
    assert days_of("+10000-01-01") == days_of("10000-01-01")


@pytest.mark.parametrize("text", ["2026-02-30", "2026-3-01", "26-03-01", "20260301", "2026-03-01 ", "", "20513"])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - some messages are Python's own
        days_of(text)
