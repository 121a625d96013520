"""Rows that differ from the table they are meant for."""

from __future__ import annotations

import pytest

from tests.spark.lake import LiveEngine, table, writing

BASE = "SELECT 1L AS id, 'a' AS text, CAST(1.5 AS DECIMAL(10, 2)) AS price"


def make(engine: LiveEngine, name: str, sql: str = BASE) -> None:
    engine.run(writing(sql, table(name), mode="append"))


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT 1L AS id, 'a' AS text", "column price (decimal(10,2)) is missing"),
        (f"{BASE}, 1 AS extra", "column extra (int) is not in the table"),
        ("SELECT 'x' AS id, 'a' AS text, CAST(1 AS DECIMAL(10, 2)) AS price", "column id is string in the rows"),
        ("SELECT 1L AS id, 'a' AS text, CAST(1 AS DECIMAL(12, 4)) AS price", "column price is decimal(12,4)"),
        ("SELECT 1L AS id, 1 AS text, CAST(1 AS DECIMAL(10, 2)) AS price", "column text is int in the rows"),
    ],
)
def test_a_mismatch_is_refused_before_data_moves(engine: LiveEngine, fresh: str, sql: str, said: str) -> None:
    make(engine, fresh)
    before = engine.inspect("table", table(fresh))
    failed = engine.fail(writing(sql, table(fresh), mode="append"))
    assert (failed.code, failed.retryable) == ("schema-mismatch", False)
    assert said in failed.message
    assert engine.inspect("table", table(fresh)) == before


def test_every_difference_is_listed(engine: LiveEngine, fresh: str) -> None:
    make(engine, fresh)
    failed = engine.fail(writing("SELECT 'x' AS id, 1 AS extra", table(fresh), mode="append"))
    assert failed.code == "schema-mismatch"
    for name in ("id", "text", "price", "extra"):
        assert f"column {name} " in failed.message


def test_columns_are_matched_by_name_and_widened(engine: LiveEngine, fresh: str) -> None:
    make(engine, fresh)
    engine.run(writing("SELECT CAST(2 AS DECIMAL(5, 2)) AS price, 'b' AS TEXT, 7 AS id", table(fresh), mode="append"))
    assert engine.rows(f"SELECT id, text, price FROM lake.raw.{fresh} ORDER BY id") == [
        (1, "a", "1.50"),
        (7, "b", "2.00"),
    ]


def test_merge_schema_adds_columns_and_fills_missing_ones(engine: LiveEngine, fresh: str) -> None:
    make(engine, fresh)
    engine.run(writing("SELECT 2L AS id, 'new' AS extra", table(fresh), mode="append", merge_schema=True))
    assert engine.rows(f"SELECT id, text, extra FROM lake.raw.{fresh} ORDER BY id") == [
        (1, "a", None),
        (2, None, "new"),
    ]


def test_merge_schema_widens_and_does_not_narrow(engine: LiveEngine, fresh: str) -> None:
    make(engine, fresh, "SELECT 1 AS number, 'a' AS text")
    engine.run(writing("SELECT 5000000000L AS number, 'b' AS text", table(fresh), mode="append", merge_schema=True))
    columns = {entry["name"]: entry["type"] for entry in engine.inspect("table", table(fresh))["columns"]}
    assert columns["number"] == "long"
    failed = engine.fail(writing("SELECT 'x' AS number", table(fresh), mode="append", merge_schema=True))
    assert failed.code == "schema-mismatch"


def test_two_jobs_that_add_different_columns_at_once(engine: LiveEngine, fresh: str) -> None:
    make(engine, fresh, "SELECT 0L AS id")
    jobs = [
        writing(f"SELECT {n}L AS id, {n} AS extra_{n}", table(fresh), name=f"j{n}", mode="append", merge_schema=True)
        for n in range(1, 5)
    ]
    for pending in [engine.start_job(job) for job in jobs]:
        pending.done()
    found = engine.rows(f"SELECT id, extra_1, extra_2, extra_3, extra_4 FROM lake.raw.{fresh} ORDER BY id")
    assert [row[0] for row in found] == [0, 1, 2, 3, 4]
    assert [row[1:] for row in found[1:]] == [tuple(n if n == k else None for k in range(1, 5)) for n in range(1, 5)]


def test_a_column_without_a_type_is_refused(engine: LiveEngine, fresh: str) -> None:
    failed = engine.fail(writing("SELECT 1 AS id, NULL AS nothing", table(fresh)))
    assert failed.code == "type-not-storable"
