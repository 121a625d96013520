"""Placeholders: values are data. Whatever they hold, the query stays the query that was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from catchment.errors import Position
from catchment.spec.findings import Findings
from catchment.spec.reading.incremental import without_end
from catchment.spec.reading.placeholders import read_template
from catchment.spec.sql_template import Placeholder, Template
from catchment.spec.tree import ScalarNode
from tests.unit.spec.marked import changed, load_text

HERE = Position("a.yaml", 1, 1)
WINDOW = "select * from c where ts > '$|start|' and ts <= '$|end|'"


def template(sql: str) -> Template:
    findings = Findings()
    found = read_template(sql, ScalarNode(sql, sql, HERE), findings)
    assert findings.in_order("a.yaml") == ()
    return found


@pytest.mark.parametrize(
    ("sql", "values", "filled"),
    [
        ("where a > '$|x|'", {"x": "2020-01-01 00:00:00"}, "where a > '2020-01-01 00:00:00'"),
        ("where a > $|x|", {"x": "17"}, "where a > 17"),
        ("where a > $|x|", {"x": "-1.5"}, "where a > (-1.5)"),
        ("where a > 10 -$|x| and b", {"x": "-5"}, "where a > 10 -(-5) and b"),
        ("where a > $|x|", {"x": "b"}, "where a > 'b'"),
        ("where a > timestamp '$|x|'", {"x": "2020-01-01"}, "where a > timestamp '2020-01-01'"),
        ("where a like 'd-$|x|-$|y|'", {"x": "1", "y": "2"}, "where a like 'd-1-2'"),
        ('where a = "$|x|"', {"x": "b"}, 'where a = "b"'),
        ("where a > '$|x|' -- since $|x|", {"x": "1"}, "where a > '1' -- since $|x|"),
        ("where a rlike r'\\d$|x|'", {"x": "1"}, "where a rlike '\\\\d1'"),
        ("select '$|x|';", {"x": "1"}, "select '1'"),
        ("where /* it's /* a */ comment's */ a > '$|x|'", {"x": "b"}, "where /* it's /* a */ comment's */ a > 'b'"),
        ("where /* /* */ $|x| */ a > $|x|", {"x": "b"}, "where /* /* */ $|x| */ a > 'b'"),
        ("where `it's` > '$|x|'", {"x": "b"}, "where `it's` > 'b'"),
        ("where a > $|it's| and b = '$|it's|'", {"it's": "1"}, "where a > 1 and b = '1'"),
        ("where a = $|x|||$|y|", {"x": "1", "y": "2"}, "where a = 1||2"),
        ("where a = 'no end $|x|", {"x": "1"}, "where a = 'no end $|x|"),
    ],
)
def test_values_stand_where_they_were_meant_to(sql: str, values: dict[str, str], filled: str) -> None:
    assert template(sql).filled(values) == filled


@given(st.text(), st.text())
@example("' or 1 = 1 --", "1")
@example("1", '"; drop table c; --')
@example("${env:HOME}", "/* */")
@example("\\", "'")
def test_no_value_changes_the_query(start: str, end: str) -> None:
    query = parse_one(template(WINDOW).filled({"start": start, "end": end}), dialect="spark")
    (where,) = query.find_all(exp.Where)
    assert isinstance(where.this, exp.And)
    assert [type(each) for each in where.this.flatten()] == [exp.GT, exp.LTE]
    assert len(list(query.find_all(exp.Literal))) == 2


@given(st.text())
def test_nothing_of_a_value_has_a_meaning_in_sql(value: str) -> None:
    filled = Template((Placeholder("x", quoted=True),), HERE).filled({"x": value})
    assert not set(filled) & set("'\"`$;/*#\n")


def test_a_placeholder_in_a_name_is_told_at_its_place() -> None:
    findings = Findings()
    sql = "select `$|x|` from c"
    read_template(sql, ScalarNode(sql, sql, HERE, source=sql), findings)
    (found,) = findings.in_order("a.yaml")
    assert (found.code, found.where) == ("misplaced-placeholder", Position("a.yaml", 1, 9))


@pytest.mark.parametrize(
    ("window", "newer"),
    [
        (WINDOW, "SELECT * FROM c WHERE ts > 'S'"),
        ("select a from c where ts between '$|start|' and '$|end|'", "SELECT a FROM c WHERE ts >= 'S'"),
        (
            "select a from c where b = 1 and ts > '$|start|' and ts < '$|end|'",
            "SELECT a FROM c WHERE b = 1 AND ts > 'S'",
        ),
        ("select a from c where ts > '$|start|'", None),
        ("select a from c where ts <= '$|end|'", None),
        ("select a from c where ts > '$|start|' or ts <= '$|end|'", None),
        ("select * from (select * from c where ts > '$|start|' and ts <= '$|end|')", None),
        ("no sql at $|start| all (", None),
    ],
)
def test_the_window_without_its_end(window: str, newer: str | None) -> None:
    found = without_end(template(window), frozenset({"start"}))
    assert (found and found.filled({"start": "S", "end": "E"})) == newer


@pytest.mark.parametrize(
    ("keys", "live"),
    [
        (["select 0", "select $|a| + 1"], [False, False]),
        (["select 0", "select max(id) from c"], [False, True]),
        (["select 0", "select max(id) from other_c"], [False, False]),
        (["select 0", "select date_trunc('day', run_time)"], [False, True]),
        (["select max(id) from c", "select least($|a|, 10)"], [True, True]),
    ],
)
def test_keys_that_move_by_themselves(tmp_path: Path, keys: list[str], live: list[bool]) -> None:
    listed = ", ".join(f"{{name: {name}, sql: {json.dumps(sql)}}}" for name, sql in zip("ab", keys, strict=True))
    window = f"incremental: {{context: c, sql: select 1, keys: [{listed}], state: [{{key: a, value: b}}]}}"
    loaded = load_text(tmp_path, changed("format: json", f"format: json, {window}")).workflow
    assert loaded is not None
    found = loaded.jobs[0].inputs[0].incremental
    assert found is not None
    assert [key.live for key in found.keys] == live
