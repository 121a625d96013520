"""Branches: written to unseen, checked, brought forward in one step or refused with the reason."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal

import pytest

from catchment.plan.model import JobPlan
from tests.concurrency.invariants import ids
from tests.spark.lake import LiveEngine, job, output, reading, step, table, writing


def appending(name: str, first: int, count: int = 5, **options: str) -> JobPlan:
    sql = f"SELECT id FROM range({first}, {first + count})"
    return writing(sql, table(name), name=f"from-{first}", mode="append", options=options)


def on_branch(engine: LiveEngine, name: str, branch: str = "audit") -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM lake.raw.{name} VERSION AS OF '{branch}' ORDER BY id")]


@pytest.mark.parametrize("commit", ["buffered", "direct"])
def test_a_branch_that_is_missing_begins_at_the_head_of_main(
    engine: LiveEngine, fresh: str, commit: Literal["buffered", "direct"]
) -> None:
    engine.run(appending(fresh, 0))
    side = appending(fresh, 10, branch="audit")
    pending = engine.start_job(replace(side, outputs=(replace(side.outputs[0], commit=commit),)))
    pending.done()
    assert "created it at the head of main" in str([note.data for note in pending.notes])
    assert (ids(engine, fresh), on_branch(engine, fresh)) == (list(range(5)), [*range(5), *range(10, 15)])


@pytest.mark.slow
def test_write_audit_publish(engine: LiveEngine, fresh: str) -> None:
    engine.run(appending(fresh, 0))
    first, second = (engine.run(appending(fresh, start, branch="audit"))[0] for start in (10, 20))
    audit = job(
        output("found", table(f"{fresh}_audit")),
        inputs=[reading("rows", table(fresh), branch="audit")],
        steps=[step("found", "SELECT count(*) AS bad FROM rows WHERE id < 0")],
    )
    engine.run(audit)
    assert engine.value(f"SELECT bad FROM lake.raw.{fresh}_audit") == 0
    looked = engine.forward(table(fresh), "audit", dry_run=True)
    assert looked["commits"] == [first.snapshot_id, second.snapshot_id]
    assert ids(engine, fresh) == list(range(5))
    done = engine.forward(table(fresh), "audit")
    assert {**done, "dry_run": True} == looked
    assert ids(engine, fresh) == [*range(5), *range(10, 15), *range(20, 25)]
    facts = engine.inspect("table", table(fresh))
    assert facts["branches"] == [{"name": name, "snapshot_id": second.snapshot_id} for name in ("audit", "main")]
    said = json.loads(facts["properties"]["catchment.changed"])
    assert (said["change"], said["by"]) == ("branch_fast_forward", "somebody")
    again = engine.forward(table(fresh), "audit")
    assert (again["commits"], again["before"], again["after"]) == ([], second.snapshot_id, second.snapshot_id)
    engine.run(appending(fresh, 30))
    assert engine.forward(table(fresh), "audit")["commits"] == []
    assert len(ids(engine, fresh)) == 20


def test_main_that_went_on_is_not_thrown_away(engine: LiveEngine, fresh: str) -> None:
    engine.run(appending(fresh, 0))
    engine.run(appending(fresh, 10, branch="audit"))
    engine.run(appending(fresh, 20))
    failed = engine.start_forward(table(fresh), "audit").failed()
    assert (failed.code, failed.retryable) == ("branch-diverged", False)
    assert "main has 1 commits that audit does not have" in failed.message
    assert "table branch delete" in str(failed.hint)
    assert ids(engine, fresh) == [*range(5), *range(20, 25)]
    back = engine.forward(table(fresh), "main", to="main")
    assert back["commits"] == []


def test_a_table_that_was_written_to_a_branch_first_is_published_whole(engine: LiveEngine, fresh: str) -> None:
    engine.run(appending(fresh, 0, branch="audit"))
    assert ids(engine, fresh) == []
    engine.forward(table(fresh), "audit")
    assert ids(engine, fresh) == list(range(5))


def test_what_is_not_there_is_named(engine: LiveEngine, fresh: str) -> None:
    assert engine.start_forward(table(fresh), "audit").failed().code == "table-not-found"
    engine.run(appending(fresh, 0))
    for branch, to in (("nowhere", "main"), ("main", "nowhere")):
        failed = engine.start_forward(table(fresh), branch, to).failed()
        assert (failed.code, failed.hint) == ("branch-not-found", "its branches are main")
        assert table(fresh).address in failed.message
