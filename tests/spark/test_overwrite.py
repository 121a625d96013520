"""Replacing tables and partitions."""

from __future__ import annotations

from catchment.plan.model import JobPlan
from tests.spark.lake import LiveEngine, by, table, writing


def ids(engine: LiveEngine, name: str, more: str = "") -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM lake.raw.{name} {more} ORDER BY id")]


def test_overwrite_replaces_everything_in_one_snapshot_and_keeps_history(engine: LiveEngine, fresh: str) -> None:
    [first] = engine.run(writing("SELECT id FROM range(3)", table(fresh)))
    [second] = engine.run(writing("SELECT id + 10 AS id FROM range(2)", table(fresh)))
    assert ids(engine, fresh) == [10, 11]
    assert ids(engine, fresh, f"VERSION AS OF {first.snapshot_id}") == [0, 1, 2]
    history = engine.inspect("snapshots", table(fresh))["snapshots"]
    assert [entry["snapshot_id"] for entry in history] == [first.snapshot_id, second.snapshot_id]
    assert (second.rows, history[1]["operation"]) == (2, "overwrite")


def trips(vendor: int, months: str, mark: str) -> str:
    """Rows of seed 000's shape: one vendor, one trip in each month."""
    return (
        f"SELECT {vendor} AS vendor_id, m AS id, timestampadd(MONTH, m, TIMESTAMP '2020-01-15') AS date_col, "
        f"'{mark}' AS mark FROM (SELECT explode(array({months})) AS m)"
    )


def replacing(sql: str, name: str, transform: str, column: str) -> JobPlan:
    spec = (by(transform, column, name="month" if transform == "month" else None),)
    return writing(sql, table(name), mode="overwrite-partitions", partitions=spec)


def test_dynamic_overwrite_by_vendor_keeps_the_other_vendor(engine: LiveEngine, fresh: str) -> None:
    for vendor, mark in ((1, "old"), (2, "old"), (1, "new")):
        engine.run(replacing(trips(vendor, "0, 1", mark), fresh, "identity", "vendor_id"))
    found = engine.rows(f"SELECT vendor_id, mark, count(*) FROM lake.raw.{fresh} GROUP BY ALL ORDER BY ALL")
    assert found == [(1, "new", 2), (2, "old", 2)]


def test_dynamic_overwrite_by_month_replaces_shared_months_only(engine: LiveEngine, fresh: str) -> None:
    engine.run(replacing(trips(1, "0, 1", "first"), fresh, "month", "date_col"))
    [report] = engine.run(replacing(trips(2, "1, 2", "second"), fresh, "month", "date_col"))
    assert report.rows == 2
    assert engine.rows(f"SELECT id, vendor_id FROM lake.raw.{fresh} ORDER BY id") == [(0, 1), (1, 2), (2, 2)]
