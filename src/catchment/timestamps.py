"""Points in time as people and Spark write them: ISO 8601, a date alone or with a time of day, `Z` or an offset.

A time without a zone is UTC, unless the caller wants it as it was written.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timezone

EXAMPLE = "for example `2030-01-31 23:59:45` or `2030-01-31T23:59:45+02:00`"
_ZULU = re.compile(r"[Zz]$")
_NUMBER = re.compile(r"\d+(\.\d+)?")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_FRACTION = re.compile(r"(:\d\d)[.,](\d+)")


def as_written(text: str) -> datetime:
    """The time with its own zone, if it has one. Raises ValueError if the text is not a time."""
    # Before Python 3.11, Z is not accepted, and a fraction must have three or six digits.
    text = _ZULU.sub("+00:00", text.strip())
    return datetime.fromisoformat(_FRACTION.sub(lambda found: f"{found[1]}.{found[2]:0<6.6}", text))


def moment(text: str) -> datetime:
    """The point in time, in UTC if it has no zone. Raises ValueError if the text is not a time."""
    return in_utc_unless_zoned(as_written(text))


def milliseconds(text: str) -> int:
    """The point in time, in whole milliseconds since 1970. Raises ValueError if the text is not a time."""
    return int(moment(text).timestamp() * 1000)


def duration(text: str) -> float:
    """A length of time in seconds: `10s`, `1h30m`, `7d`, or a number of seconds. Raises ValueError otherwise."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"`{text}` is not a duration")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def milliseconds_or_ago(text: str) -> int:
    """A point in time, or how long ago it was (`7d`), in whole milliseconds since 1970. Raises ValueError otherwise."""
    try:
        return milliseconds(text)
    except ValueError:
        if _NUMBER.fullmatch(text.strip()):
            raise
    return int((time.time() - duration(text)) * 1000)


def in_utc_unless_zoned(found: datetime) -> datetime:
    """The same time, taken as UTC if it has no zone."""
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
