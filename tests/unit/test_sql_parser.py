"""SQL that is nested deeply is read like any other; what cannot be read is nobody's error here."""

from __future__ import annotations

import sys

import pytest
from sqlglot import exp

from catchment.sql_parser import parse

NESTED = {
    "brackets": ("SELECT ", "(", "1", ")", " AS a FROM t"),
    "subqueries": ("SELECT * FROM ", "(SELECT * FROM ", "t", ")", ""),
    "functions": ("SELECT ", "coalesce(", "1", ", 2)", " FROM t"),
    "cases": ("SELECT ", "CASE WHEN true THEN ", "1", " END", " FROM t"),
}


@pytest.mark.parametrize(("start", "opening", "core", "closing", "end"), NESTED.values(), ids=NESTED.keys())
def test_nested_sql_is_read(start: str, opening: str, core: str, closing: str, end: str) -> None:
    before = sys.getrecursionlimit()
    for depth in (50, 300):
        statement = parse(start + opening * depth + core + closing * depth + end)
        assert statement is not None
        assert [table.name for table in statement.find_all(exp.Table)] == ["t"]
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize(
    "sql", ["SELECT " + "(" * 100_000, "SELECT x:y.z FROM a", "SELECT MAP(x) USING 'cat' FROM a", ""]
)
def test_what_cannot_be_read_is_none(sql: str) -> None:
    assert parse(sql) is None
