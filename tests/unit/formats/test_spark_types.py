from __future__ import annotations

from typing import Any

import pytest

from catchment.formats.spark_types import column_type

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
    assert column_type({"name": "x", "type": kind, "metadata": {"comment": "y"}}) == text


def test_collations_of_texts() -> None:
    collations = {"x": "icu.UNICODE_CI", "y.value": "spark.UTF8_LCASE"}
    column = {"name": "x", "type": "string", "metadata": {"__COLLATIONS": collations}}
    assert column_type(column) == "string collate UNICODE_CI"
    nested = {"type": "map", "keyType": "string", "valueType": "string"}
    assert column_type({**column, "name": "y", "type": nested}) == "map<string,string collate UTF8_LCASE>"
