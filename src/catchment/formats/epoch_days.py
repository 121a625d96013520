"""Dates as days since 1970, of any year. Python's own dates end with the year 9999, in which sentinels lie."""

from __future__ import annotations

import re
from datetime import date, timedelta

_EPOCH = date(1970, 1, 1)
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
"""After so many years the calendar repeats itself."""
_DATE = re.compile(r"([+-]?\d{4,7})-(\d\d)-(\d\d)")


def date_text(days: int) -> str:
    """The date so many days after 1970-01-01, as ISO 8601 and Spark write it: 2026-03-01, 10000-01-01, -0001-12-31."""
    cycles, rest = divmod(days, _CYCLE_DAYS)
    found = _EPOCH + timedelta(days=rest)
    return f"{year_text(found.year + cycles * _CYCLE_YEARS)}-{found:%m-%d}"


def year_text(year: int) -> str:
    """A year with at least four digits."""
    return f"{year:04}" if year >= 0 else f"-{-year:04}"


def days_of(text: str) -> int:
    """How many days after 1970-01-01 a date is. Raises ValueError if the text is not a date."""
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(f"`{text}` is not a date")
    cycles, year = divmod(int(found[1]), _CYCLE_YEARS)
    alike = date(_CYCLE_YEARS + year, int(found[2]), int(found[3]))
    return (alike - _EPOCH).days + (cycles - 1) * _CYCLE_DAYS
