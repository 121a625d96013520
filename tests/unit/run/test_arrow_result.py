"""Results of queries as Arrow tables and data frames: values keep their types, also next to nulls."""

from __future__ import annotations

import json
import sys
from datetime import date, datetime, timezone
from decimal import Decimal

import pandas
import pyarrow as pa
import pytest

from catchment.errors import SetupError
from catchment.run.query_result import QueryResult

NOON = datetime(2024, 2, 29, 12)
DAY = date(2024, 1, 1)
LIST = {"type": "array", "elementType": "date"}
MAP = {"type": "map", "keyType": "integer", "valueType": "long"}
STRUCT = {"type": "struct", "fields": [{"name": "x", "type": "date"}, {"name": "y", "type": "long"}]}
COLUMNS = {
    "i": ("integer", 1, pa.int32(), 1),
    "l": ("long", 2**62, pa.int64(), 2**62),
    "f": ("double", "nan", pa.float64(), None),
    "d": ("decimal(10,2)", "1.50", pa.decimal128(10, 2), Decimal("1.50")),
    "day": ("date", "2024-02-29", pa.date32(), date(2024, 2, 29)),
    "at": ("timestamp", "2024-02-29T12:00:00Z", pa.timestamp("us", "UTC"), NOON.replace(tzinfo=timezone.utc)),
    "local": ("timestamp_ntz", "2024-02-29T12:00:00", pa.timestamp("us"), NOON),
    "b": ("boolean", True, pa.bool_(), True),
    "raw": ("binary", "AP8=", pa.binary(), b"\x00\xff"),
    "s": ("string", "x", pa.string(), "x"),
    "n": ("void", None, pa.null(), None),
    "span": ("interval day to second", "INTERVAL '1' DAY", pa.string(), "INTERVAL '1' DAY"),
    "list": (LIST, ["2024-01-01", None], pa.list_(pa.date32()), [DAY, None]),
    "map": (MAP, {"7": 1}, pa.map_(pa.int32(), pa.int64()), [(7, 1)]),
    "struct": (
        *(STRUCT, {"x": "2024-01-01", "y": None}),
        *(pa.struct([("x", pa.date32()), ("y", pa.int64())]), {"x": DAY, "y": None}),
    ),
}


def result(**columns: tuple[object, list[object]]) -> QueryResult:
    types = tuple(json.dumps(kind) for kind, _ in columns.values())
    rows = zip(*(values for _, values in columns.values()), strict=True)
    return QueryResult(tuple(columns), types, tuple(json.dumps(row) for row in rows), truncated=False)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_of_spark_has_its_type_in_arrow(name: str) -> None:
    kind, text, of_type, value = COLUMNS[name]
    table = result(c=(kind, [text, None])).to_arrow()
    assert table.schema.field("c").type == of_type
    found, nothing = table.column("c").to_pylist()
    assert nothing is None
    assert found == value or (name == "f" and found != found)


def test_a_time_that_python_cannot_hold_makes_its_column_text() -> None:
    table = result(c=("date", ["+12345-06-07", "2024-01-01", None])).to_arrow()
    assert table.column("c").to_pylist() == ["+12345-06-07", "2024-01-01", None]


def test_two_columns_may_have_one_name_and_there_may_be_no_rows() -> None:
    both = QueryResult(("a", "a"), ('"long"', '"string"'), (json.dumps([1, "x"]),), truncated=False).to_arrow()
    assert [each.to_pylist() for each in both.columns] == [[1], ["x"]]
    assert result(c=("long", [])).to_arrow().schema.field("c").type == pa.int64()


def test_numbers_next_to_nulls_stay_numbers_in_pandas() -> None:
    frame = result(n=("long", [2**62, None]), d=("decimal(5,2)", ["1.00", None])).to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert (str(frame["n"].dtype), frame["n"][0]) == ("int64[pyarrow]", 2**62)
    assert frame["d"][0] == Decimal("1.00")


def test_without_pandas_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SetupError) as caught:
        result(n=("long", [1])).to_pandas()
    assert caught.value.code == "library-missing"
