"""Deletes and merges in Paimon tables with a primary key: once each, and never from rows that others have changed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from catchment.errors import EngineLost, Position
from catchment.plan.model import Commits, Dataset, JobPlan
from tests.concurrency.waiting import await_sleep, worker_of
from tests.ledgers import Filled, end_leases
from tests.matrices import exhaustive
from tests.spark.lake import HERE, LiveEngine, by, deleting, job, merging, output, reading, writing
from tests.spark.paimon.jobs import ids, keyed, snapshots

Start = Callable[..., LiveEngine]
ON = "old.id = new.id"
UPSERT = "MATCHED THEN UPDATE SET text = new.text WHEN NOT MATCHED THEN INSERT *"
CHANGES = "SELECT * FROM VALUES (0L, 'x', 'u'), (1L, 'y', 'd'), (9L, 'z', 'i') AS (id, text, op)"
pytestmark = pytest.mark.slow


def base(target: Dataset, rows: int = 4, **properties: str) -> JobPlan:
    return keyed(f"SELECT id, 'first' AS text FROM range({rows})", target, name="base", **properties)


def texts(engine: LiveEngine, target: Dataset) -> list[tuple[Any, ...]]:
    return engine.rows(f"SELECT id, text FROM {target.identifier} ORDER BY id")


@pytest.mark.parametrize("bucket", ["2", *exhaustive("-1")])
def test_every_action_of_a_merge(here: LiveEngine, target: Dataset, bucket: str) -> None:
    here.run(base(target, bucket=bucket))
    when = (
        "MATCHED AND new.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET old.text = new.text "
        "WHEN NOT MATCHED THEN INSERT (id, text) VALUES (new.id, upper(new.text)) "
        "WHEN NOT MATCHED BY SOURCE AND old.id = 2 THEN UPDATE SET text = 'alone'"
    )
    [report] = here.run(merging(CHANGES, target, ON, when))
    assert texts(here, target) == [(0, "x"), (2, "alone"), (3, "first"), (9, "Z")]
    *_, last = snapshots(here, target)
    assert (last["write_ids"], last["operation"], report.rows) == ([report.write_id], "merge", 4)
    assert last["snapshot_id"] == report.snapshot_id


@pytest.mark.exhaustive
def test_a_merge_creates_the_table_it_needs_and_says_what_it_cannot_do(here: LiveEngine, target: Dataset) -> None:
    rows = "SELECT id, 'new' AS text FROM range(2)"
    bare = here.fail(merging(rows, target, ON, UPSERT))
    assert (bare.code, bare.where) == ("row-changes-unsupported", HERE)
    assert str(target.table) not in str(here.inspect("tables", target))
    key = keyed(rows, target).outputs[0]
    here.run(merging(rows, target, ON, UPSERT, primary_key=key.primary_key, properties=key.properties))
    assert texts(here, target) == [(0, "new"), (1, "new")]
    twice = here.fail(merging(f"{rows} UNION ALL {rows}", target, ON, UPSERT))
    assert (twice.code, twice.retryable) == ("merge-cardinality", False)
    for when, code, place in (
        ("MATCHED THEN UPDATE SET text = new.nothing", "column-not-found", HERE),
        ("NOT MATCHED THEN INSERT (id) VALUES (new.id)", "bad-merge-clause", HERE),
        ("MATCHED THEN UPDATE SET text = 1 WHEN WHATEVER", "sql-syntax", Position("workflow.yaml", 11, 43)),
    ):
        wrong = here.fail(merging(rows, target, ON, when))
        assert (wrong.code, wrong.where) == (code, place)
    assert texts(here, target) == [(0, "new"), (1, "new")]


def test_rows_are_deleted_once_and_an_incremental_reader_is_told(here: LiveEngine, target: Dataset, fresh: str) -> None:
    here.run(base(target, rows=6))
    copy = replace(target, address=f"{target.address}-copy", table=f"{fresh}copy")
    source = replace(reading("rows", target), commits=Commits(HERE))
    follow = job(output("rows", copy, mode="append"), inputs=[source], name="follow")
    here.run(follow, workflow=f"w-{fresh}")
    cleaning, run = deleting(target, "target.id % 2 = 1"), f"r-{fresh}"
    first = here.run(cleaning, run=run)
    assert (first[0].rows, ids(here, target)) == (3, [0, 2, 4])
    here.run(keyed("SELECT 1L AS id, 'again' AS text", target))
    assert here.run(cleaning, run=run, number=2) == first
    assert ids(here, target) == [0, 1, 2, 4]
    assert here.fail(follow, workflow=f"w-{fresh}").code == "source-overwritten"
    [nothing] = here.run(deleting(target, "target.id > 100"))
    assert (nothing.rows, ids(here, target)) == (0, [0, 1, 2, 4])
    wrong = here.fail(deleting(target, "target.nothing = 1"))
    assert (wrong.code, wrong.where.line if wrong.where else None) == ("column-not-found", 20)


@pytest.mark.exhaustive
def test_tables_whose_rows_cannot_be_deleted(here: LiveEngine, target: Dataset, fresh: str) -> None:
    here.run(writing("SELECT id FROM range(3)", target, mode="append"))
    assert here.fail(deleting(target, "target.id = 1")).code == "row-changes-unsupported"
    assert ids(here, target) == [0, 1, 2]
    other = replace(target, address=f"{target.address}-other", table=f"{fresh}other")
    here.run(base(other, ignore_delete="true"))
    assert "ignore-delete" in here.fail(deleting(other, "target.id = 1")).message


@pytest.mark.parametrize("point", ["sealed", "swap-applied", *exhaustive("data-written", "before-swap")])
def test_a_killed_merge_is_made_once(
    here: LiveEngine, ledger: Filled, start_older: Start, target: Dataset, point: str
) -> None:
    here.run(keyed("SELECT id, 10L AS amount FROM range(3)", target, name="base"))
    adding = merging("SELECT id FROM range(2)", target, ON, "MATCHED THEN UPDATE SET amount = old.amount + 5")
    run = f"r-{target.table}"
    victim = start_older(key="victim", fault=f"{point}:kill")
    assert isinstance(victim.start_job(adding, run=run).answer(), EngineLost)
    end_leases(ledger.store, worker_of(victim))
    assert here.run(adding, run=run, number=2)[0].rows == 2
    assert here.rows(f"SELECT * FROM {target.identifier} ORDER BY id") == [(0, 15), (1, 15), (2, 10)]


@pytest.mark.parametrize("part", [0, 1])
def test_what_others_commit_meanwhile_is_not_undone(
    here: LiveEngine, start_older: Start, target: Dataset, part: int
) -> None:
    """A delete is computed anew if its partition was changed; it goes through if another one was."""
    parts = (by("identity", "part"),)
    made = keyed("SELECT id, CAST(id % 2 AS INT) AS part, 'old' AS v FROM range(6)", target, "id", "part")
    shape: dict[str, Any] = {
        "primary_key": made.outputs[0].primary_key,
        "properties": {"bucket": "1"},
        "partitions": parts,
    }
    here.run(replace(made, outputs=(replace(made.outputs[0], partitions=parts),)))
    sleeper = start_older(key="sleeper", fault="before-sealed:stop")
    sleeper.ready()
    slow = sleeper.start_job(deleting(target, "target.part = 0 AND target.v = 'old'"))
    await_sleep(worker_of(sleeper))
    here.run(writing(f"SELECT {part}L AS id, {part} AS part, 'new' AS v", target, mode="append", **shape))
    os.kill(worker_of(sleeper), signal.SIGCONT)
    [report] = slow.done()
    kept = [(0, "new")] if part == 0 else []
    others = [(1, "new" if part == 1 else "old"), (3, "old"), (5, "old")]
    assert here.rows(f"SELECT id, v FROM {target.identifier} ORDER BY id") == [*kept, *others]
    assert report.rows == 3 - len(kept)
