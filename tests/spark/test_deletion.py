"""`delete_from_dataset`: rows that meet a condition go, once, and whole partitions without a look at the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment.errors import Position
from tests.concurrency.invariants import check, ids
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, by, deleting, lake_depot, merging, reading, step, table, writing


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
    [report] = engine.run(deleting(table(fresh), condition), run=f"r-{fresh}")
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
    asking = deleting(table(fresh), condition, reading("others", table(f"{fresh}b")))
    evens = step("evens", "SELECT gone FROM others WHERE gone % 2 = 0")
    [report] = engine.run(replace(asking, steps=(evens,)))
    assert (report.rows, ids(engine, fresh)) == (3, [1, 3, 5, 6, 7, 8, 9])


def test_a_repeated_deletion_spares_what_came_later(engine: LiveEngine, fresh: str) -> None:
    filled_table(engine, fresh)
    first = engine.run(deleting(table(fresh), "target.part = 1"), run=f"r-{fresh}")
    filled_table(engine, fresh, mode="append")
    assert engine.run(deleting(table(fresh), "target.part = 1"), run=f"r-{fresh}", number=2) == first
    assert len(ids(engine, fresh)) == 15


def test_rows_of_a_branch_go_from_that_branch_alone(engine: LiveEngine, fresh: str) -> None:
    filled_table(engine, fresh)
    engine.ask(f"ALTER TABLE lake.raw.{fresh} CREATE BRANCH audit")
    engine.run(deleting(table(fresh), "target.id < 9", branch="audit"))
    assert len(ids(engine, fresh)) == 10
    assert engine.rows(f"SELECT id FROM lake.raw.{fresh} VERSION AS OF 'audit'") == [(9,)]


def test_what_is_wrong_in_the_condition_is_shown_there(engine: LiveEngine, fresh: str) -> None:
    filled_table(engine, fresh)
    failed = engine.fail(deleting(table(fresh), "target.id = 1 AND target.colour = 2"))
    assert (failed.code, failed.where) == ("column-not-found", Position("workflow.yaml", 20, 27))
    assert failed.message.startswith("action delete_from_dataset: ")
    assert engine.fail(deleting(table(f"{fresh}x"), "true")).code == "table-not-found"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_an_older_spark_merges_and_deletes_too(
    root: Path, start_spark_3: Callable[..., LiveEngine], fresh: str
) -> None:
    old = start_spark_3(lake_depot(root), key="old")
    filled_table(old, fresh)
    upsert = "MATCHED THEN UPDATE SET part = 7 WHEN NOT MATCHED THEN INSERT *"
    merged = merging("SELECT id, 8 AS part FROM range(9, 12)", table(fresh), "old.id = new.id", upsert)
    for number in (1, 2):
        old.run(merged, run=f"r-{fresh}", number=number)
    for condition, gone in (("target.part = 0", 5), ("target.id IN (1, 3)", 2), ("target.part = 7", 1)):
        [report] = old.run(deleting(table(fresh), condition))
        assert report.rows == gone
    assert ids(old, fresh) == [5, 7, 10, 11]
    assert len(old.inspect("snapshots", table(fresh))["snapshots"]) == 5
