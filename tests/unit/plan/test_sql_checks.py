"""Errors in the SQL of steps that are told before Spark starts, and SQL that is none of our business."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.plan.flows import PROJECT, place, prepare

FLOW = """\
version: v1
name: flow
type: workflow
workflow:
  dag:
  - name: one
    spec:
      stack: flare:7.0
      stackSpec:
        sparkConf: [CONF]
        job:
          MORE
          inputs:
            - {name: trips, dataset: "dataos://drop:none/trips", format: json}
          steps:
            - sequence:
STEPS          outputs:
            - {name: last, dataset: "dataos://lakehouse:raw/trips?acl=rw", options: {saveMode: append}}
"""
LINE = 19
"""Of the first line of the first step's SQL; each step has three lines besides its SQL."""
COLUMN = 21


def flow(*sql: str, conf: str = "", more: str = "") -> str:
    names = [f"s{number}" for number in range(1, len(sql))] + ["last"]
    steps = "".join(
        f"                - name: {name}\n                  sql: |\n"
        + "".join(f"{' ' * (COLUMN - 1)}{line}\n" for line in text.split("\n"))
        for name, text in zip(names, sql, strict=True)
    )
    return FLOW.replace("CONF", conf).replace("MORE", more or "logLevel: INFO").replace("STEPS", steps)


def found(directory: Path, text: str, project: str = PROJECT) -> list[tuple[str, int, int]]:
    return [place(each) for each in prepare(directory, text, project).diagnostics if each.is_error]


WRONG = {
    "an unknown view": ("unknown-view", "SELECT * FROM §tripz"),
    "in another line": ("unknown-view", "SELECT *\nFROM trips t\nJOIN §stations s ON t.x = s.x"),
    "in a subquery": ("unknown-view", "SELECT (SELECT max(x) FROM §other) FROM trips"),
    "in a CTE": ("unknown-view", "WITH a AS (SELECT * FROM §b) SELECT * FROM a"),
    "nested deeply": ("unknown-view", f"SELECT * FROM {'(SELECT * FROM ' * 60}§other{')' * 60}"),
    "in quotes": ("unknown-view", "SELECT * FROM §`größe`"),
    "an open bracket": ("sql-syntax", "SELECT count§(* FROM trips"),
    "a closing bracket": ("sql-syntax", "SELECT 1§) FROM trips"),
    "brackets that do not match": ("sql-syntax", "SELECT array(1§] FROM trips"),
    "an open quote": ("sql-syntax", "§SELECT 'it FROM trips"),
    "a misspelt word": ("sql-syntax", "§SELEC * FROM trips"),
    "nothing but a comment": ("sql-syntax", "§-- nothing yet"),
    "two statements": ("sql-syntax", "SELECT 1;\n§SELECT 2"),
}


@pytest.mark.parametrize(("code", "sql"), WRONG.values(), ids=WRONG.keys())
def test_what_is_certainly_wrong_is_told_at_its_place(tmp_path: Path, code: str, sql: str) -> None:
    before = sql.partition("§")[0]
    line, column = before.count("\n"), len(before) - (before.rfind("\n") + 1)
    assert found(tmp_path, flow(sql.replace("§", ""))) == [(code, LINE + line, COLUMN + column)]


RIGHT = [
    ("SELECT * FROM TRIPS",),
    ("SELECT 1 AS a", "SELECT * FROM s1"),
    ("SELECT * FROM `trips` t, LATERAL explode(t.x) AS e(y) LATERAL VIEW explode(z) v AS w",),
    ("SELECT /*+ BROADCAST(t), MERGE(nothing) */ * FROM trips t",),
    ("WITH a AS (SELECT * FROM trips), b AS (SELECT * FROM a) SELECT * FROM b",),
    ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT * FROM r",),
    ("SELECT * FROM range(3) JOIN VALUES (1), (2) AS v(id) USING (id)",),
    ("SELECT * FROM IDENTIFIER('tri' || 'ps')",),
    ("SELECT * FROM parquet.`/data/x` p JOIN lakehouse.raw.stations s ON true JOIN other.t ON true",),
    ("SELECT * FROM lakehouse.raw.trips.snapshots",),
    ("CREATE OR REPLACE TEMPORARY VIEW made AS SELECT * FROM trips", "SELECT * FROM made"),
    ("CREATE TEMPORARY VIEW made (a INT) USING csv OPTIONS (path '/x')", "SELECT * FROM made"),
    ("CACHE TABLE made AS SELECT * FROM trips", "SELECT * FROM made"),
    ("CACHE TABLE trips", "SELECT * FROM trips"),
    ("DECLARE VARIABLE x INT DEFAULT 1", "SELECT x FROM trips"),
    ("USE lakehouse.raw", "SELECT * FROM stations"),
    ("SET spark.sql.defaultCatalog = lakehouse", "SELECT * FROM stations"),
    ("SET my.text = it's (", "SELECT * FROM trips"),
    ("TABLE trips",),
    ("FROM trips |> WHERE id = 1 |> SELECT id",),
    ("FROM trips SELECT *",),
    ("SELECT {{ columns }} FROM {{ table }} WHERE (",),
    ("SELECT 'an ( open one', \")\", `a)b`, r'\\', 'it\\'s (' -- and ) here\nFROM trips /* ( */",),
    ("SELECT EXTRACT(DAY FROM at), trim(BOTH 'x' FROM y), x::int, x:y.z FROM trips",),
    ("SELECT * FROM trips WHERE x IN (TABLE trips)",),
    ("SELECT TRANSFORM(id) USING 'cat' AS (id) FROM trips",),
    ("(SELECT * FROM trips) UNION ALL (SELECT * FROM trips);",),
    ("SELECT * FROM trips PIVOT (sum(x) FOR y IN (1, 2))",),
    ("SELECT * FROM trips TIMESTAMP AS OF '2024-01-01' TABLESAMPLE (10 PERCENT)",),
    (f"SELECT {'(' * 300}1{')' * 300} FROM trips",),
]


@pytest.mark.parametrize("sql", RIGHT, ids=lambda sql: sql[-1][:40])
def test_what_may_be_right_is_left_to_spark(tmp_path: Path, sql: tuple[str, ...]) -> None:
    assert found(tmp_path, flow(*sql)) == []


def test_the_hint_names_what_was_meant(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, flow("SELECT * FROM tripz", "SELECT 1"))
    assert [each.hint for each in prepared.diagnostics if each.is_error] == ["did you mean `trips`?"]
    later = prepare(tmp_path, flow("SELECT * FROM last", "SELECT 1"))
    assert ["above" in str(each.hint) for each in later.diagnostics if each.is_error] == [True]


OPEN = {
    "a default catalog": (flow("SELECT * FROM stations", conf="{spark.sql.defaultCatalog: lakehouse}"), PROJECT),
    "Hive": (flow("SELECT * FROM stations", conf="{spark.sql.catalogImplementation: hive}"), PROJECT),
    "a job with side effects": (flow("SELECT * FROM stations", more="sideEffects: true"), PROJECT),
    "other escapes": (
        flow(r"SELECT 'a\' FROM trips", conf="{spark.sql.parser.escapedStringLiterals: true}"),
        PROJECT,
    ),
    "an input that cannot be read": (flow("SELECT * FROM trips").replace("drop:none", "nowhere:none"), PROJECT),
}


@pytest.mark.parametrize(("text", "project"), OPEN.values(), ids=OPEN.keys())
def test_where_other_names_may_be_known_nothing_is_said(tmp_path: Path, text: str, project: str) -> None:
    codes = {code for code, _, _ in found(tmp_path, text, project)}
    assert codes <= {"unknown-depot"}
