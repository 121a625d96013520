from datetime import date, datetime, timezone
from decimal import Decimal
from math import isnan
from typing import Any

import pytest

from catchment.run.query_result import QueryResult

STRUCT = '{"type": "struct", "fields": [{"name": "day", "type": "date"}, {"name": "x", "type": "double"}]}'
MAP = '{"type": "map", "keyType": "long", "valueType": "decimal(4,2)", "valueContainsNull": true}'


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ('"date"', '"2024-02-29"', date(2024, 2, 29)),
        ('"date"', '"+10000-01-01"', "+10000-01-01"),
        ('"date"', '"-0044-03-15"', "-0044-03-15"),
        ('"timestamp"', '"2024-01-01T12:00:00.500000Z"', datetime(2024, 1, 1, 12, 0, 0, 500_000, timezone.utc)),
        ('"timestamp"', '"+12345-01-01T00:00:00Z"', "+12345-01-01T00:00:00Z"),
        ('"timestamp_ntz"', '"2024-01-01T12:00:00"', datetime(2024, 1, 1, 12)),
        ('"decimal(38,18)"', '"0.100000000000000001"', Decimal("0.100000000000000001")),
        ('"binary"', '"aGk="', b"hi"),
        ('"double"', '"inf"', float("inf")),
        ('"date"', "null", None),
        ('"long"', "9223372036854775807", 2**63 - 1),
        (STRUCT, '{"day": "2024-01-01", "x": 1.5}', {"day": date(2024, 1, 1), "x": 1.5}),
        ('{"type": "array", "elementType": "date"}', '["2024-01-01", null]', [date(2024, 1, 1), None]),
        (MAP, '{"7": "1.50"}', {7: Decimal("1.50")}),
    ],
)
def test_values_come_to_python_as_what_they_are(kind: str, text: str, value: Any) -> None:
    assert QueryResult(("a",), (kind,), (f"[{text}]",), truncated=False).rows == ((value,),)


def test_a_number_that_is_none_stays_one() -> None:
    [[value]] = QueryResult(("a",), ('"float"',), ('["nan"]',), truncated=False).rows
    assert isnan(value)
