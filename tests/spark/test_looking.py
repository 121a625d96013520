"""Queries and inspection."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal

import pytest

from catchment.engine.protocol import Rows
from tests.spark.lake import LiveEngine, table, writing


def test_values_become_json(engine: LiveEngine) -> None:
    result = engine.ask(
        "SELECT 1 AS i, 1.5D AS d, CAST('NaN' AS DOUBLE) AS nan, DATE '2020-01-02' AS day, "
        "TIMESTAMP '2020-01-02 03:04:05.5' AS ts, TIMESTAMP_NTZ '2020-01-02 03:04:05' AS ntz, "
        "CAST(1 AS DECIMAL(5, 2)), X'00ff', array(1, 2), map('k', DATE '2020-01-01'), "
        "named_struct('a', 1, 'b', array('x')), NULL, true"
    )
    assert result.columns[:3] == ("i", "d", "nan")
    assert [tuple(json.loads(text)) for text in result.texts] == [
        (
            *(1, 1.5, "nan", "2020-01-02", "2020-01-02T03:04:05.500000Z", "2020-01-02T03:04:05", "1.00"),
            *("AP8=", [1, 2], {"k": "2020-01-01"}, {"a": 1, "b": ["x"]}, None, True),
        )
    ]
    day, moment, local, price, raw = result.rows[0][3:8]
    assert (day, moment) == (date(2020, 1, 2), datetime(2020, 1, 2, 3, 4, 5, 500_000, timezone.utc))
    assert (local, price, raw) == (datetime(2020, 1, 2, 3, 4, 5), Decimal("1.00"), b"\x00\xff")


def test_years_that_python_does_not_know(engine: LiveEngine) -> None:
    far = "TIMESTAMP '+12345-06-07 08:09:10.5'"
    assert engine.rows(
        f"SELECT DATE '+10000-01-01', DATE '-0044-03-15' AS a, {far} AS a, TIMESTAMP '-0001-12-31 23:00:00', "
        f"TIMESTAMP_NTZ '+12345-01-01 00:00:00.25', array(named_struct('at', {far})), map('k', {far}), "
        "INTERVAL '1-2' YEAR TO MONTH, TIMESTAMP '0001-01-01 00:00:00', CAST(NULL AS TIMESTAMP)"
    ) == [
        (
            *("+10000-01-01", "-0044-03-15", "+12345-06-07T08:09:10.500000Z", "-0001-12-31T23:00:00Z"),
            *("+12345-01-01T00:00:00.250000", [{"at": "+12345-06-07T08:09:10.500000Z"}]),
            *({"k": "+12345-06-07T08:09:10.500000Z"}, "INTERVAL '1-2' YEAR TO MONTH", "0001-01-01T00:00:00Z", None),
        )
    ]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_large_result_comes_in_several_messages_and_a_row_too_large_is_refused(engine: LiveEngine) -> None:
    sql = "SELECT id, repeat('x', 1000) AS x FROM range(0, 3000, 1, 3)"
    first = engine.start_query(sql).answer()
    assert isinstance(first, Rows)
    assert first.more
    assert [row[0] for row in engine.rows(sql)] == list(range(3000))
    assert engine.refused_query("SELECT repeat('x', 70000000)").code == "row-too-large"


def test_limit_and_truncation(engine: LiveEngine) -> None:
    for limit, count, truncated in ((3, 3, True), (5, 5, False), (9, 5, False), (None, 5, False)):
        rows = engine.ask("SELECT id FROM range(5)", limit)
        assert (len(rows.rows), rows.truncated) == (count, truncated)


def test_tables_snapshots_and_files(engine: LiveEngine, fresh: str) -> None:
    place = table(fresh, namespace=fresh)
    engine.run(writing("SELECT id FROM range(7)", place, name="writer"), run="r-7")
    listed = engine.inspect("tables", place)["tables"]
    assert {"namespace": fresh, "table": fresh, "address": f"dataos://lake:{fresh}/{fresh}"} in listed
    [snapshot] = engine.inspect("snapshots", place)["snapshots"]
    assert snapshot["committed_at"].endswith("+00:00")
    assert {
        key: snapshot[key] for key in ("workflow", "job", "run_id", "write_ids", "writes", "added_rows", "operation")
    } == {
        "workflow": "workflow",
        "job": "writer",
        "run_id": "r-7",
        "write_ids": ["r-7/writer/out"],
        "writes": [{"write_id": "r-7/writer/out", "rows": 7}],
        "added_rows": 7,
        "operation": "overwrite",
    }
    facts = engine.inspect("table", place)
    assert (facts["rows"], facts["snapshot_id"]) == (7, snapshot["snapshot_id"])
    assert [column["name"] for column in facts["columns"]] == ["id"]
    found = engine.inspect("files", place)["files"]
    assert sum(entry["rows"] for entry in found) == 7
    assert len(found) == facts["files"]


def test_a_step_can_read_the_run_time(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT run_time AS at", table(fresh)))
    assert engine.value(f"SELECT at FROM lake.raw.{fresh}") == "2026-03-01T12:00:00Z"


def test_explain_and_preview_go_to_the_log(engine: LiveEngine, fresh: str) -> None:
    work = writing("SELECT id, 'look here' AS text FROM range(3)", table(fresh), name=fresh)
    engine.run(replace(work, explain=True, preview_rows=2))
    log = engine.log(fresh)
    assert "Physical Plan" in log
    assert log.count("look here") >= 3
    assert "only showing top 2 rows" in log
