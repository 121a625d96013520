"""`delete_from_dataset`: rows that meet a condition go, once, and whole partitions without a look at the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from catchment.errors import Position
from catchment.plan.model import ActionPlan, JobPlan
from tests.concurrency.invariants import check, ids
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, by, clause, job, output, reading, step, table, writing

WHERE = Position("workflow.yaml", 20, 9)


def deleting(name: str, condition: str, *more: Any, **options: str) -> JobPlan:
    target = output("rows", table(name), name="delete_from_dataset", mode="delete", options=options)
    action = ActionPlan("delete_from_dataset", target, clause(condition, WHERE))
    return job(inputs=[reading("rows", table(name), **options), *more], actions=(action,), name="cleaning")


def filled_table(engine: LiveEngine, name: str, **more: Any) -> None:
    sql = "SELECT id, id % 2 AS part FROM range(0, 10, 1, 1)"
    engine.run(writing(sql, table(name), partitions=(by("identity", "part"),), **more))


@pytest.mark.parametrize(
    ("condition", "left", "operation"),
    [
        ("target.id < 3", list(range(3, 10)), "overwrite"),
        ("target.part = 1", [0, 2, 4, 6, 8], "delete"),
        ("true", [], "delete"),
        ("target.id > 100", list(range(10)), None),
    ],
)
def test_rows_go_in_one_commit_and_are_counted(
    engine: LiveEngine, filled: Filled, fresh: str, condition: str, left: list[int], operation: str | None
) -> None:
    filled_table(engine, fresh)
    [report] = engine.run(deleting(fresh, condition), run=f"r-{fresh}")
    assert ids(engine, fresh) == left
    assert report.rows == 10 - len(left)
    assert report.write_id == f"r-{fresh}/cleaning/delete_from_dataset"
    assert filled.states(report.write_id) == ["committed"]
    last = engine.inspect("snapshots", table(fresh))["snapshots"][-1]
    if operation:
        assert (last["operation"], last["write_ids"]) == (operation, [report.write_id])
        assert (report.files == 0) == (operation == "delete")
    check(engine, fresh)


def test_other_inputs_and_steps_decide_what_goes(engine: LiveEngine, fresh: str) -> None:
    filled_table(engine, fresh)
    engine.run(writing("SELECT id AS gone FROM range(5)", table(f"{fresh}b")))
    condition = "EXISTS (SELECT 1 FROM evens WHERE evens.gone = target.id)"
    asking = deleting(fresh, condition, reading("others", table(f"{fresh}b")))
    evens = step("evens", "SELECT gone FROM others WHERE gone % 2 = 0")
    [report] = engine.run(replace(asking, steps=(evens,)))
    assert (report.rows, ids(engine, fresh)) == (3, [1, 3, 5, 6, 7, 8, 9])


def test_a_repeated_deletion_spares_what_came_later(engine: LiveEngine, fresh: str) -> None:
    filled_table(engine, fresh)
    first = engine.run(deleting(fresh, "target.part = 1"), run=f"r-{fresh}")
    filled_table(engine, fresh, mode="append")
    assert engine.run(deleting(fresh, "target.part = 1"), run=f"r-{fresh}", number=2) == first
    assert len(ids(engine, fresh)) == 15


def test_rows_of_a_branch_go_from_that_branch_alone(engine: LiveEngine, fresh: str) -> None:
    filled_table(engine, fresh)
    engine.ask(f"ALTER TABLE lake.raw.{fresh} CREATE BRANCH audit")
    engine.run(deleting(fresh, "target.id < 9", branch="audit"))
    assert len(ids(engine, fresh)) == 10
    assert engine.rows(f"SELECT id FROM lake.raw.{fresh} VERSION AS OF 'audit'") == [(9,)]


def test_what_is_wrong_in_the_condition_is_shown_there(engine: LiveEngine, fresh: str) -> None:
    filled_table(engine, fresh)
    failed = engine.fail(deleting(fresh, "target.id = 1 AND target.colour = 2"))
    assert (failed.code, failed.where) == ("column-not-found", Position("workflow.yaml", 20, 27))
    assert failed.message.startswith("action delete_from_dataset: ")
    assert engine.fail(deleting(f"{fresh}x", "true")).code == "table-not-found"
