from __future__ import annotations

from typing import Any

import pytest

from catchment.formats.iceberg.file_health import partition_text
from catchment.formats.iceberg.maintenance.partition_conditions import _condition, _in_period

MICROS = 1_000_000


@pytest.mark.parametrize(
    ("transform", "kind", "value", "text"),
    [
        ("year", "date", 56, "2026"),
        ("year", "date", 9999 - 1970, "9999"),
        ("year", "date", 5 - 1970, "0005"),
        ("month", "date", 56 * 12 + 2, "2026-03"),
        ("month", "date", -1, "1969-12"),
        ("month", "date", (10000 - 1970) * 12, "10000-01"),
        ("day", "date", 20513, "2026-03-01"),
        ("day", "date", 2_932_897, "10000-01-01"),
        ("day", "date", -719_163, "0000-12-31"),
        ("hour", "timestamp", 24 * 365 + 5, "1971-01-01-05"),
        ("hour", "timestamp", 2_932_897 * 24 - 1, "9999-12-31-23"),
        ("hour", "timestamp", -719_162 * 24, "0001-01-01-00"),
        ("bucket[4]", "date", 3, "3"),
        ("identity", "string", "eu", "eu"),
        ("identity", "boolean", True, "true"),
        ("identity", "string", None, None),
        ("identity", "binary", bytearray(b"\x00\xff"), "AP8="),
        ("identity", "int", 20513, "20513"),
        ("identity", "date", 2_932_897, "10000-01-01"),
        ("identity", "timestamp", 20513 * 86400 * MICROS + 500, "2026-03-01T00:00:00.000500"),
        ("identity", "timestamptz", -1, "1969-12-31T23:59:59.999999+00:00"),
    ],
)
def test_values_as_people_write_them(transform: str, kind: str, value: Any, text: str | None) -> None:
    assert partition_text(transform, kind, value) == text


@pytest.mark.parametrize(
    ("transform", "kind", "value", "first", "end"),
    [
        ("year", "date", "2026", "DATE '2026-01-01'", "DATE '2027-01-01'"),
        ("month", "date", "2026-12", "DATE '2026-12-01'", "DATE '2027-01-01'"),
        ("year", "date", "9999", "DATE '9999-01-01'", "DATE '10000-01-01'"),
        ("month", "date", "9999-12", "DATE '9999-12-01'", "DATE '10000-01-01'"),
        ("day", "date", "9999-12-31", "DATE '9999-12-31'", "DATE '10000-01-01'"),
        ("day", "date", "-0001-12-31", "DATE '-0001-12-31'", "DATE '0000-01-01'"),
        (
            "day",
            "timestamp_ntz",
            "2026-02-28",
            "TIMESTAMP_NTZ '2026-02-28 00:00:00'",
            "TIMESTAMP_NTZ '2026-03-01 00:00:00'",
        ),
        (
            *("hour", "timestamp", "2026-03-01-23"),
            *("TIMESTAMP '2026-03-01 23:00:00+00:00'", "TIMESTAMP '2026-03-02 00:00:00+00:00'"),
        ),
    ],
)
def test_a_period_is_a_range_of_its_column(transform: str, kind: str, value: str, first: str, end: str) -> None:
    assert _in_period("`at`", kind, transform, value) == f"`at` >= {first} AND `at` < {end}"


@pytest.mark.parametrize(
    ("transform", "value"),
    [
        ("month", "2026-03-01-05"),
        ("month", "2026-13"),
        ("year", "26"),
        ("day", "2026-02-30"),
        ("day", "2026-02"),
        ("hour", "2026-03-01"),
        ("hour", "2026-03-01-24"),
        ("hour", "2026-03-01T05"),
    ],
)
def test_what_is_no_period(transform: str, value: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - some messages are Python's own
        _in_period("`at`", "date", transform, value)


def test_binary_values_are_literals() -> None:
    assert _condition("identity", "`raw`", "binary", "lake")("AP8=") == "`raw` = X'00ff'"
    assert _condition("truncate[2]", "`raw`", "binary", "lake")("") == "`lake`.system.truncate(2, `raw`) = X''"
    with pytest.raises(ValueError, match="padding"):
        _condition("identity", "`raw`", "binary", "lake")("AP8")
