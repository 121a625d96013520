"""Merging rows into Iceberg tables: what it does, what it says, and that it does it once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import update

from catchment.errors import Position
from catchment.plan.model import JobPlan
from catchment.store.schema import writes
from catchment.store.writes import FATE_UNKNOWN
from tests.concurrency.invariants import check
from tests.ledgers import LOST, Filled
from tests.spark.lake import LiveEngine, by, merging, reading, table, writing

ON = "old.id = new.id"
UPSERT = "MATCHED THEN UPDATE SET old.text = new.text WHEN NOT MATCHED THEN INSERT *"
INSERT = "NOT MATCHED THEN INSERT *"


def base(name: str, rows: int = 3) -> JobPlan:
    return writing(f"SELECT id, 'first' AS text FROM range({rows})", table(name), mode="append", name="base")


def texts(engine: LiveEngine, name: str, more: str = "") -> list[tuple[int, str]]:
    return engine.rows(f"SELECT id, text FROM lake.raw.{name} {more} ORDER BY id, text")


def rows(*ids: int, text: str = "second") -> str:
    return f"SELECT id, '{text}' AS text FROM (SELECT explode(array({', '.join(map(str, ids))})) AS id)"


def test_rows_are_updated_and_inserted_in_one_commit(engine: LiveEngine, fresh: str) -> None:
    engine.run(base(fresh))
    [report] = engine.run(merging(rows(2, 3), table(fresh), ON, UPSERT))
    assert texts(engine, fresh) == [(0, "first"), (1, "first"), (2, "second"), (3, "second")]
    history = engine.inspect("snapshots", table(fresh))["snapshots"]
    assert [entry["write_ids"] for entry in history][1:] == [[report.write_id]]
    assert (report.rows, report.snapshot_id) == (2, history[1]["snapshot_id"])
    assert (history[1]["job"], history[1]["workflow"]) == ("job", "workflow")
    check(engine, fresh)


@pytest.mark.parametrize(
    ("when", "left"),
    [
        ("MATCHED AND new.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET text = new.text", [(0, "x"), (2, "first")]),
        ("NOT MATCHED BY SOURCE THEN DELETE", [(0, "first"), (1, "first")]),
        ("NOT MATCHED AND new.op = 'd' THEN INSERT (id, text) VALUES (new.id, upper(new.text))", None),
    ],
)
def test_every_action_of_a_merge(engine: LiveEngine, fresh: str, when: str, left: list[tuple[int, str]] | None) -> None:
    engine.run(base(fresh))
    changes = "SELECT * FROM VALUES (0, 'x', 'u'), (1, 'y', 'd') AS (id, text, op)"
    engine.run(merging(changes, table(fresh), ON, when))
    assert texts(engine, fresh) == (left or [(0, "first"), (1, "first"), (2, "first")])


def test_a_merge_into_nothing_creates_the_table_and_inserts(engine: LiveEngine, fresh: str) -> None:
    job = merging(rows(1, 2), table(fresh), ON, UPSERT, partitions=(by("bucket", "id", 2),))
    [report] = engine.run(job)
    assert report.rows == 2
    engine.run(merging(rows(2, 3, text="third"), table(fresh), ON, UPSERT))
    assert texts(engine, fresh) == [(1, "second"), (2, "third"), (3, "third")]
    assert engine.inspect("table", table(fresh))["partitions"][0]["transform"] == "bucket[2]"


def test_a_repeated_merge_is_reported_and_not_done_again(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    engine.run(writing("SELECT 1 AS id, 10 AS amount", table(fresh)))
    adding = merging("SELECT 1 AS id, 5 AS amount", table(fresh), ON, "MATCHED THEN UPDATE SET amount = old.amount + 5")
    first = engine.run(adding, run=f"r-{fresh}")
    assert engine.run(adding, run=f"r-{fresh}", number=2) == first
    assert filled.find(f"r-{fresh}/job/out").state == "committed"
    # The ledger has_history_since after the history is gone, and the history tells where the ledger does not know.
    filled.lose(f"r-{fresh}/job/out")
    assert engine.run(adding, run=f"r-{fresh}", number=3) == first
    assert engine.value(f"SELECT amount FROM lake.raw.{fresh}") == 15


def test_a_merge_that_changes_nothing_is_done(engine: LiveEngine, fresh: str) -> None:
    engine.run(base(fresh))
    [report] = engine.run(merging(rows(7), table(fresh), ON, "MATCHED THEN DELETE"))
    assert report.rows == 0
    assert len(texts(engine, fresh)) == 3


def test_rows_of_the_view_need_not_be_rows_of_the_table_unless_it_shall_grow(engine: LiveEngine, fresh: str) -> None:
    engine.run(base(fresh, 1))
    wider = "SELECT 0 AS id, 'new' AS text, 7 AS amount"
    engine.run(merging(wider, table(fresh), ON, "MATCHED THEN UPDATE SET text = concat(new.text, new.amount)"))
    assert texts(engine, fresh) == [(0, "new7")]
    engine.run(merging(wider, table(fresh), ON, "MATCHED THEN UPDATE SET *", merge_schema=True))
    assert engine.rows(f"SELECT * FROM lake.raw.{fresh}") == [(0, "new", 7)]


def test_a_branch_is_merged_into_alone(engine: LiveEngine, fresh: str) -> None:
    engine.run(base(fresh, 1))
    assert engine.run(merging(rows(0, 1), table(fresh), ON, UPSERT, options={"branch": "audit"}))[0].rows == 2
    assert texts(engine, fresh) == [(0, "first")]
    assert texts(engine, fresh, "VERSION AS OF 'audit'") == [(0, "second"), (1, "second")]


@pytest.mark.parametrize(
    ("on", "when", "code", "line", "column"),
    [
        ("old.id = new.key", UPSERT, "column-not-found", 10, 14),
        (ON, "MATCHED THEN UPDATE SET old.colour = 1", "column-not-found", 11, 29),
        (ON, "MATCHED THEN UPDATE SET text = 1 WHEN WHATEVER", "sql-syntax", 11, 43),
        (ON, "MATCHED THEN UPDATE SET text = CAST('x' AS INT)", "write-failed", 11, 36),
    ],
)
def test_what_is_wrong_in_a_clause_is_shown_there(
    engine: LiveEngine, filled: Filled, fresh: str, on: str, when: str, code: str, line: int, column: int
) -> None:
    engine.run(base(fresh))
    failed = engine.fail(merging(rows(1), table(fresh), on, when), run=f"r-{fresh}")
    assert (failed.code, failed.where) == (code, Position("workflow.yaml", line, column))
    assert failed.hint
    assert not failed.retryable
    assert failed.message.startswith("output out: ")
    assert filled.states(f"r-{fresh}/job/out") == ["abandoned"]
    assert filled.left(table(fresh).address) == []


def test_two_rows_for_one_are_refused_and_nothing_is_changed(engine: LiveEngine, fresh: str) -> None:
    engine.run(base(fresh))
    failed = engine.fail(merging(rows(1, 1), table(fresh), ON, UPSERT))
    assert (failed.code, failed.retryable) == ("merge-cardinality", False)
    assert "row_number" in str(failed.hint)
    engine.run(merging(rows(1, 1), table(fresh), ON, INSERT))
    assert texts(engine, fresh) == [(0, "first"), (1, "first"), (2, "first")]


def test_what_fails_in_a_step_is_not_blamed_on_the_merge(engine: LiveEngine, fresh: str) -> None:
    engine.run(base(fresh))
    job = merging("SELECT CAST('x' AS INT) AS id, 'y' AS text", table(fresh), ON, UPSERT)
    failed = engine.fail(job)
    assert failed.where == Position("workflow.yaml", 1, 1)


def test_rows_come_from_a_table(engine: LiveEngine, fresh: str) -> None:
    engine.run(base(fresh))
    engine.run(writing(rows(2, 3), table(f"{fresh}_source"), mode="append"))
    merge = merging("SELECT * FROM source", table(fresh), ON, UPSERT)
    [report] = engine.run(replace(merge, inputs=(reading("source", table(f"{fresh}_source")),)))
    assert report.rows == 2
    assert [text for _, text in texts(engine, fresh)] == ["first", "first", "second", "second"]


def test_rows_that_are_others_every_time_they_are_computed_are_refused(engine: LiveEngine, fresh: str) -> None:
    engine.run(base(fresh))
    failed = engine.fail(merging("SELECT 1 AS id, uuid() AS text", table(fresh), ON, UPSERT))
    assert (failed.code, failed.retryable) == ("not-deterministic", False)


def test_a_merge_does_not_reach_the_session_of_the_next_write(engine: LiveEngine, fresh: str) -> None:
    engine.run(base(fresh))
    merged = merging(rows(1), table(fresh), ON, UPSERT)
    other = replace(writing(rows(9), table(f"{fresh}b")).outputs[0], name="other", commit="direct")
    reports = engine.run(replace(merged, outputs=(*merged.outputs, other)), run=f"r-{fresh}")
    assert [report.rows for report in reports] == [1, 1]
    [entry] = engine.inspect("snapshots", table(f"{fresh}b"))["snapshots"]
    assert entry["write_ids"] == [f"r-{fresh}/job/other"]


def test_a_merge_that_nobody_knows_of_any_more_waits_for_a_person(
    engine: LiveEngine, filled: Filled, fresh: str
) -> None:
    engine.run(writing("SELECT 1 AS id, 10 AS amount", table(fresh)))
    adding = merging("SELECT 1 AS id, 5 AS amount", table(fresh), ON, "MATCHED THEN UPDATE SET amount = old.amount + 5")
    write_id = f"r-{fresh}/job/out"
    engine.run(adding, run=f"r-{fresh}")
    with filled.store.database.writing() as connection:  # as if its engine had died after the commit
        this = update(writes).where(writes.c.write_id == write_id)
        connection.execute(this.values(state="open", owner=LOST, finished=None, snapshot_id=None))
    engine.run(writing("SELECT 2 AS id, 10 AS amount", table(fresh), mode="append", name="later"))
    engine.ask(f"CALL lake.system.expire_snapshots('raw.{fresh}', current_timestamp(), 1)")

    [done] = engine.recover(table(fresh))
    assert [(each["write_id"], each["code"]) for each in done["refused"]] == [(write_id, FATE_UNKNOWN)]
    assert engine.recover(table(fresh))[0]["refused"] == []
    assert engine.fail(adding, run=f"r-{fresh}", number=2).code == FATE_UNKNOWN
    filled.store.decisions.accept(write_id, "committed")
    engine.run(adding, run=f"r-{fresh}", number=3)
    assert engine.value(f"SELECT amount FROM lake.raw.{fresh} WHERE id = 1") == 15
