from __future__ import annotations

from typing import Any

import pytest

from catchment.formats.spark_types import simple_type

STRUCT = {"type": "struct", "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("long", "bigint"),
        ("decimal(10,2)", "decimal(10,2)"),
        ({"type": "array", "elementType": "integer"}, "array<int>"),
        ({"type": "map", "keyType": "short", "valueType": STRUCT}, "map<smallint,struct<a:bigint,b:string>>"),
        ({"type": "udt", "class": "Point"}, "udt"),
    ],
)
def test_types_are_written_as_in_sql(kind: Any, text: str) -> None:
    assert simple_type(kind) == text
