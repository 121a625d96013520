from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from catchment.formats.iceberg.file_health import partition_text
from catchment.formats.iceberg.maintenance.partition_conditions import _in_period


@pytest.mark.parametrize(
    ("transform", "value", "text"),
    [
        ("year", 56, "2026"),
        ("month", 56 * 12 + 2, "2026-03"),
        ("month", -1, "1969-12"),
        ("day", date(2026, 3, 1), "2026-03-01"),
        ("hour", 24 * 365 + 5, "1971-01-01-05"),
        ("bucket[4]", 3, "3"),
        ("identity", "eu", "eu"),
        ("identity", True, "true"),
        ("identity", None, None),
        ("identity", bytearray(b"\x00\xff"), "AP8="),
    ],
)
def test_values_are_spelled_as_in_the_names_of_partitions(transform: str, value: Any, text: str | None) -> None:
    assert partition_text(transform, value) == text


@pytest.mark.parametrize(
    ("transform", "kind", "value", "first", "end"),
    [
        ("year", "date", "2026", "DATE '2026-01-01'", "DATE '2027-01-01'"),
        ("month", "date", "2026-12", "DATE '2026-12-01'", "DATE '2027-01-01'"),
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


def test_what_is_no_period() -> None:
    with pytest.raises(ValueError, match="unconverted"):
        _in_period("`at`", "date", "month", "2026-03-01-05")
