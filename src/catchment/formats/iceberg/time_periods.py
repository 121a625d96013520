"""The periods of time transforms: their names, their numbers as Iceberg stores them, and when they begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from catchment.formats.epoch_days import date_text, days_of, year_text

_NAMES: Mapping[str, Callable[[int], str]] = {
    "year": lambda years: year_text(1970 + years),
    "month": lambda months: f"{year_text(1970 + months // 12)}-{months % 12 + 1:02}",
    "day": date_text,
    "hour": lambda hours: f"{date_text(hours // 24)}-{hours % 24:02}",
}
_FIRST_DAY = {"year": "-01-01", "month": "-01", "day": ""}
"""What makes the date of its first day of the name of a period."""
TRANSFORMS = frozenset(_NAMES)


def period_name(transform: str, number: int) -> str:
    """The name of a period: 2026, 2026-03, 2026-03-01 or 2026-03-01-23."""
    return _NAMES[transform](number)


def period_number(transform: str, name: str) -> int:
    """The number of a period. Raises ValueError if there is none of this name."""
    if transform == "hour":
        return days_of(name[:-3]) * 24 + datetime.strptime(name[-3:], "-%H").hour
    day = name + _FIRST_DAY[transform]
    days, years, months = days_of(day), int(day[:-6]) - 1970, int(day[-5:-3]) - 1
    return {"year": years, "month": years * 12 + months, "day": days}[transform]


def beginning(transform: str, number: int) -> tuple[str, str]:
    """The date and the hour with which a period begins."""
    name = period_name(transform, number)
    return (name[:-3], name[-2:]) if transform == "hour" else (name + _FIRST_DAY[transform], "00")
