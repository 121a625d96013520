"""Changes of tables beside writers and beside each other, and changes whose engines die."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.plan.model import ChangePlan, JobPlan
from tests.concurrency.invariants import check
from tests.spark.lake import HERE, LiveEngine, changing, lake_depot, table, writing

Start = Callable[..., LiveEngine]


def appending(name: str, number: int) -> JobPlan:
    sql = f"SELECT {number} AS id, 'x' AS word"
    return writing(sql, table(name), name=f"job-{number}", mode="append", merge_schema=True)


def job_of(change: ChangePlan) -> JobPlan:
    return JobPlan("changing", "default", HERE, change=change)


@pytest.mark.parametrize(
    "point", ["before-swap", pytest.param("swap-applied", marks=pytest.mark.slow)], ids=lambda point: str(point)
)
@pytest.mark.slow
def test_a_change_whose_engine_dies_is_made_once(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, point: str
) -> None:
    engine.run(appending(fresh, 1))
    plan = job_of(changing(table(fresh), "column_rename", column="word", to="text"))
    start_engine(lake_depot(root), key="victim", fault=f"{point}:kill").start_job(plan, run=fresh).answer()
    names = [each["name"] for each in engine.inspect("table", table(fresh))["columns"]]
    assert names == (["id", "word"] if point == "before-swap" else ["id", "text"])
    engine.run(plan, run=fresh, number=2)
    assert engine.rows(f"SELECT id, text FROM lake.raw.{fresh}") == [(1, "x")]
    assert len(engine.inspect("versions", table(fresh))["versions"]) == 3


def test_a_change_that_others_followed_is_not_made_again(engine: LiveEngine, fresh: str) -> None:
    for number in (1, 2):
        engine.run(appending(fresh, number))
    first = engine.inspect("snapshots", table(fresh))["snapshots"][0]["snapshot_id"]
    plan = job_of(changing(table(fresh), "rollback", snapshot=str(first)))
    engine.run(plan, run=fresh)
    engine.run(appending(fresh, 3))
    engine.run(job_of(changing(table(fresh), "tag_create", tag="mine")), run=f"{fresh}-tag")
    engine.run(plan, run=fresh, number=2)  # as after an engine that died before it could say that it was done
    assert engine.rows(f"SELECT id FROM lake.raw.{fresh} ORDER BY id") == [(1,), (3,)]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_many_changes_and_writes_at_once(engine: LiveEngine, root: Path, start_engine: Start, fresh: str) -> None:
    engine.run(appending(fresh, 0))
    engines, pending = (engine, start_engine(lake_depot(root), key="other")), []
    for number in range(1, 7):
        here, there = engines[number % 2], engines[(number + 1) % 2]
        pending.append(here.start_job(appending(fresh, number)))
        for change in (
            changing(table(fresh), "column_add", column=f"c{number}", type="int"),
            changing(table(fresh), "properties_set", properties={f"p{number}": "1"}),
            changing(table(fresh), "tag_create", tag=f"t{number}"),
        ):
            pending.append(there.start_job(job_of(change), run=f"{fresh}-{number}-{change.name}"))
    for each in pending:
        each.done()
    facts = engine.inspect("table", table(fresh))
    assert {f"c{number}" for number in range(1, 7)} <= {each["name"] for each in facts["columns"]}
    assert {f"p{number}" for number in range(1, 7)} <= set(facts["properties"])
    assert [each["name"] for each in facts["tags"]] == [f"t{number}" for number in range(1, 7)]
    assert engine.rows(f"SELECT id FROM lake.raw.{fresh} ORDER BY id") == [(number,) for number in range(7)]
    check(engine, fresh)
