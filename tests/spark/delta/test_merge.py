"""Merging rows into Delta tables: what it does, what it says, and that it does it once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catchment.errors import EngineLost, Position
from catchment.plan.model import Dataset, JobPlan
from tests.concurrency.waiting import worker_of
from tests.ledgers import Filled, end_leases, forget_engine
from tests.spark.lake import (
    LiveEngine,
    by,
    delta_depot,
    delta_table,
    lake_depot,
    merging,
    writing,
)
from tests.spark.overtaking import gate, overtake

Start = Callable[..., LiveEngine]

ON = "old.id = new.id"
UPSERT = "MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
ADD = "MATCHED THEN UPDATE SET amount = old.amount + new.amount WHEN NOT MATCHED THEN INSERT *"


def base(target: Dataset, rows: int = 3) -> JobPlan:
    return writing(f"SELECT id, 10L AS amount FROM range({rows})", target, name="base")


def adding(target: Dataset, *ids: int, name: str = "job") -> JobPlan:
    sql = f"SELECT id, 5L AS amount FROM (SELECT explode(array({', '.join(f'{i}L' for i in ids)})) AS id)"
    return merging(sql, target, ON, ADD, name=name)


def amounts(engine: LiveEngine, target: Dataset) -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT amount FROM {target.identifier} ORDER BY id")]


@pytest.mark.slow
def test_rows_are_updated_and_inserted_in_one_version_and_once(
    here: LiveEngine, ledger: Filled, target: Dataset
) -> None:
    here.run(base(target))
    [report] = first = here.run(adding(target, 2, 3), run=f"r-{target.table}")
    assert (report.rows, report.snapshot_id) == (2, "2")
    [*_, merged] = here.inspect("snapshots", target)["snapshots"]
    assert (merged["operation"], merged["write_ids"], merged["job"]) == ("merge", [report.write_id], "job")
    assert here.run(adding(target, 2, 3), run=f"r-{target.table}", number=2) == first
    ledger.lose(report.write_id)  # the table's log tells where the ledger does not know
    assert here.run(adding(target, 2, 3), run=f"r-{target.table}", number=3) == first
    assert amounts(here, target) == [10, 10, 15, 5]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_merge_into_nothing_creates_the_table_and_a_merge_of_nothing_is_done(
    here: LiveEngine, target: Dataset
) -> None:
    new = replace(adding(target, 1, 2).outputs[0], partitions=(by("identity", "id"),))
    assert here.run(replace(adding(target, 1, 2), outputs=(new,)))[0].rows == 2
    assert here.inspect("table", target)["partitions"][0]["column"] == "id"
    for sql, when in (
        ("SELECT 7L AS id", "MATCHED THEN DELETE"),
        ("SELECT 1L AS id, 0L AS amount WHERE false", UPSERT),
    ):
        assert here.run(merging(sql, target, ON, when))[0].rows == 0
    assert here.run(merging("SELECT 1L AS id", target, ON, "MATCHED THEN DELETE"))[0].rows == 1
    assert amounts(here, target) == [5]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_table_grows_where_it_shall(here: LiveEngine, target: Dataset) -> None:
    here.run(base(target, 1))
    wider = "SELECT 0L AS id, 7L AS amount, 'new' AS text"
    here.run(merging(wider, target, ON, "MATCHED THEN UPDATE SET amount = length(new.text)"))
    assert here.rows(f"SELECT * FROM {target.identifier}") == [(0, 3)]
    here.run(merging(wider, target, ON, UPSERT, merge_schema=True))
    assert here.rows(f"SELECT * FROM {target.identifier}") == [(0, 7, "new")]


@pytest.mark.slow
def test_what_is_wrong_is_said_and_nothing_is_changed(here: LiveEngine, ledger: Filled, target: Dataset) -> None:
    here.run(base(target))
    for number, (on, when, code, where) in enumerate(
        (
            ("old.id = new.key", UPSERT, "column-not-found", (10, 14)),
            (ON, "MATCHED THEN UPDATE SET amount = 1 WHEN WHATEVER", "sql-syntax", (11, 45)),
            ("true", "MATCHED THEN UPDATE SET amount = new.amount", "merge-cardinality", (1, 1)),
        )
    ):
        wrong, run = merging("SELECT id, 5L AS amount FROM range(2)", target, on, when), f"r{number}-{target.table}"
        failed = here.fail(wrong, run=run)
        assert (failed.code, failed.retryable, failed.where) == (code, False, Position("workflow.yaml", *where))
        assert ledger.states(f"{run}/job/out") == ["abandoned"]
    assert amounts(here, target) == [10, 10, 10]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_merge_does_not_reach_the_session_of_the_next_write(here: LiveEngine, place: Path, target: Dataset) -> None:
    here.run(base(target))
    aside = delta_table(f"{target.table}_aside", place)
    merged = adding(target, 1)
    also = replace(writing("", aside).outputs[0], name="also", mode="append")
    here.run(replace(merged, outputs=(*merged.outputs, also)), run=f"r-{target.table}")
    [*_, entry] = here.inspect("snapshots", aside)["snapshots"]
    assert entry["write_ids"] == [f"r-{target.table}/job/also"]


@pytest.mark.slow
def test_a_merge_that_is_overtaken_is_evaluated_on_what_is_there_then(here: LiveEngine, target: Dataset) -> None:
    here.run(base(target, 1))
    slow = merging("SELECT 1L AS id, seen * 0 + 5 AS amount FROM gate", target, ON, ADD)
    pending = here.start_job(replace(slow, steps=(gate(target), *slow.steps), side_effects=True))
    overtake(here, target, "1L, 20L")
    [report] = pending.done()
    assert "trying again" in str([note.data for note in pending.notes if note.event == "warning"])
    assert (report.rows, amounts(here, target)) == (1, [10, 25])


@pytest.mark.slow
def test_many_merges_of_two_engines_all_count(here: LiveEngine, there: LiveEngine, target: Dataset) -> None:
    here.run(base(target, 2))
    sent = [(here, there)[n % 2].start_job(adding(target, 0, 1, name=f"j{n}")) for n in range(6)]
    assert [pending.done()[0].rows for pending in sent] == [2] * 6
    assert amounts(here, target) == [40, 40]


@pytest.mark.slow
@pytest.mark.parametrize("point", ["before-own-commit", "own-commit-applied"])
def test_killed_around_the_commit_the_merge_is_there_once(
    here: LiveEngine, ledger: Filled, place: Path, start_engine: Start, target: Dataset, point: str
) -> None:
    here.run(base(target, 1))
    victim, run = start_engine(delta_depot(place), key="victim", fault=f"{point}:kill"), f"r-{target.table}"
    assert isinstance(victim.start_job(adding(target, 0), run=run).answer(), EngineLost)
    end_leases(ledger.store, worker_of(victim))
    forget_engine(ledger.store, ledger.find(f"{run}/job/out").intent.owner)
    [report] = here.run(adding(target, 0), run=run, number=2)
    assert (report.rows, amounts(here, target)) == (1, [15])


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_older_line_of_spark_merges_too(place: Path, start_spark_3: Start, target: Dataset) -> None:
    older = start_spark_3(delta_depot(place), lake_depot(place), key="older")
    older.run(base(target, 1))
    first = older.run(adding(target, 0, 1), run=f"r-{target.table}")
    assert older.run(adding(target, 0, 1), run=f"r-{target.table}", number=2) == first
    assert (first[0].rows, amounts(older, target)) == (2, [15, 5])
