"""How many windows of a backfill are computed at a time: one, where a window may see what the one before it wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment.job.backfill import AT_ONCE, windows_at_once
from catchment.plan.model import JobPlan
from tests.spark.lake import delta_table, files, job, merging, output, reading, step, table, windowed

TENS = {"start": "select 0", "end": "select $|start| + 10"}
BETWEEN = "select id from all_source where id > $|start| and id <= $|end|"
OUT = table("out", namespace="shop")
FILES = files(Path("/drop/out"), "parquet")


def backfilled(sql: str, dataset: Any = OUT, window: str = BETWEEN, **more: Any) -> JobPlan:
    """A job with a step between its window and its output."""
    source = windowed("source", table("source"), window, TENS, {"start": "end"})
    return job(output("out", dataset, mode="append", **more), inputs=[source], steps=[step("out", sql)])


@pytest.mark.parametrize(
    ("sql", "dataset"),
    [
        ("select id from source", OUT),
        ("with out as (select * from source) select * from out", OUT),
        ("select * from lake.shop.outer_orders join lake.raw.out using (id)", OUT),
        ("select 'lake.shop.out' as name from source -- lake.shop.out", OUT),
        ("select identifier from source", OUT),
        ("select * from source join lake.shop.out using (id)", FILES),
        ("select * from source join parquet.`/drop/lookup` using (id)", FILES),
    ],
)
def test_windows_that_need_nothing_of_each_other_are_computed_at_the_same_time(sql: str, dataset: Any) -> None:
    assert windows_at_once(backfilled(sql, dataset), ()) == AT_ONCE


@pytest.mark.parametrize(
    ("sql", "dataset"),
    [
        ("select * from source left anti join lake.shop.out using (id)", OUT),
        ("select * from source where id > (select max(id) from `LAKE`.`Shop`.out)", OUT),
        ("with seen as (from lake.shop.out select *) select * from source left anti join seen using (id)", OUT),
        ("select count(*) as n from lake.shop.out.snapshots", OUT),
        ("select * from lake_published.shop.out", OUT),
        ("select * from identifier('lake.shop.' || 'o' || 'ut')", OUT),
        ("execute immediate 'select * from lake.shop.out'", OUT),
        ("table lake.shop.out", OUT),
        ("select * frm lake.shop.out", OUT),
        ("select * from source left anti join parquet.`/drop/out` using (id)", FILES),
        ("create temporary view seen using parquet options (path '/drop/out')", FILES),
    ],
)
def test_windows_go_one_after_the_other_where_a_step_may_read_what_they_write(sql: str, dataset: Any) -> None:
    assert windows_at_once(backfilled(sql, dataset), ()) == 1


def test_the_query_of_the_window_counts_too() -> None:
    window = f"{BETWEEN} and id not in (select id from lake.shop.out)"
    assert windows_at_once(backfilled("select id from source", window=window), ()) == 1


def test_windows_go_one_after_the_other_where_a_commit_belongs_to_its_computing() -> None:
    plain = "select id from source"
    works = [
        backfilled(plain, delta_table("out", Path("/lake"))),
        backfilled(plain, commit="direct"),
        backfilled(plain, conflict="rerun"),
        merging(plain, OUT, "old.id = new.id", "NOT MATCHED THEN INSERT *"),
        replace(backfilled(plain), inputs=(reading("old", OUT),)),
    ]
    assert [windows_at_once(work, ()) for work in works] == [1] * len(works)
    assert windows_at_once(backfilled(plain), {"lake"}) == 1
