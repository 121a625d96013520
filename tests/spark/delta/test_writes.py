"""Delta tables: written by several engines at once, killed, run again, looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catchment.errors import EngineLost, Position
from catchment.plan.model import Dataset, InputPlan, JobPlan, StepPlan
from catchment.spec.model import SourceLine
from tests.ledgers import Filled, forget_engine
from tests.spark.lake import (
    HERE,
    LiveEngine,
    by,
    delta_depot,
    delta_table,
    job,
    output,
    reading,
    step,
    table,
    writing,
)
from tests.spark.overtaking import at_gate, gate, overtake

PART = (by("identity", "part"),)
THEIRS = "'theirs', 0"


def ids(engine: LiveEngine, target: Dataset) -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM {target.identifier} ORDER BY id")]


def marks(engine: LiveEngine, target: Dataset) -> list[tuple[Any, ...]]:
    """(part, mark, rows) of the table."""
    return engine.rows(f"SELECT part, mark, count(*) FROM {target.identifier} GROUP BY ALL ORDER BY ALL")


def appending(target: Dataset, first: int, name: str = "job", **more: Any) -> JobPlan:
    return writing(f"SELECT id FROM range({first}, {first + 5})", target, name=name, mode="append", **more)


def replacing(target: Dataset, mark: str, parts: str, **more: Any) -> JobPlan:
    """A job that replaces the partitions it has rows for, three rows in each."""
    sql = f"SELECT '{mark}' AS mark, part FROM (SELECT explode(array({parts})) AS part), range(3)"
    return writing(sql, target, name=mark, mode="overwrite-partitions", partitions=PART, **more)


def versions(engine: LiveEngine, target: Dataset) -> list[dict[str, Any]]:
    return list(engine.inspect("snapshots", target)["snapshots"])


@pytest.mark.slow
def test_append_overwrite_and_the_way_back(here: LiveEngine, target: Dataset) -> None:
    [first] = here.run(appending(target, 0))
    [second] = here.run(appending(target, 5))
    [third] = here.run(writing("SELECT id FROM range(90, 92)", target))
    assert [(each.rows, each.snapshot_id) for each in (first, second, third)] == [(5, "1"), (5, "2"), (2, "3")]
    assert ids(here, target) == [90, 91]
    named = f"events.raw.{target.table}"
    assert here.value(f"SELECT count({target.table}.id) FROM {named}") == 2
    assert here.value(f"SELECT count(t.id) FROM {named} VERSION AS OF 2 AS t") == 10
    moment = versions(here, target)[1]["committed_at"]
    assert here.value(f"SELECT count(*) FROM {named} TIMESTAMP AS OF '{moment}'") == 5
    then = reading("rows", target, versionAsOf="1")
    here.run(job(output("rows", table(target.table or ""), mode="append"), inputs=[then]))
    assert [row[0] for row in here.rows(f"SELECT id FROM lake.raw.{target.table} ORDER BY id")] == list(range(5))


@pytest.mark.slow
def test_the_sql_of_steps_names_tables_as_queries_do(here: LiveEngine, target: Dataset) -> None:
    here.run(appending(target, 0))
    copy, named = table(f"{target.table}_copy"), f"events.raw.{target.table}"
    here.run(writing(f"SELECT {target.table}.id FROM {named} WHERE id < 2", copy))
    assert here.rows(f"SELECT id FROM lake.raw.{copy.table} ORDER BY id") == [(0,), (1,)]
    sql = f"SELECT id FROM {named} WHERE nothing = 1"
    steps = [StepPlan("rows", sql, HERE, Position("w.yaml", 7, 41), (SourceLine(0, 7, 41),))]
    failed = here.fail(job(output("rows", copy), steps=steps))
    assert (failed.code, failed.where) == ("column-not-found", Position("w.yaml", 7, 41 + sql.index("nothing")))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_nothing_to_write_into_a_table_without_partitions(here: LiveEngine, target: Dataset) -> None:
    here.run(writing("SELECT 'old' AS mark", target))
    here.run(writing("SELECT 'x' AS mark WHERE false", target, mode="overwrite-partitions"))
    assert here.rows(f"SELECT * FROM {target.identifier}") == [("old",)]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.slow
def test_the_tables_log_knows_what_the_ledger_has_lost(
    here: LiveEngine, ledger: Filled, target: Dataset, mode: str
) -> None:
    work, run = writing("SELECT id FROM range(5)", target, mode=mode), f"r-{target.table}"
    first = here.run(work, run=run)
    here.run(appending(target, 5))
    ledger.lose(first[0].write_id)  # the metastore was replaced by an older copy
    assert here.run(work, run=run, number=2) == first
    assert ledger.states(first[0].write_id) == ["committed"]
    assert (len(versions(here, target)), ids(here, target)) == (3, list(range(10)))


@pytest.mark.slow
def test_two_engines_on_a_table_that_neither_has_seen(here: LiveEngine, there: LiveEngine, target: Dataset) -> None:
    jobs = [appending(target, 5 * n, f"j{n}", properties={"delta.appendOnly": "true"}) for n in range(4)]
    sent = [engine.start_job(each) for engine, each in zip([here, there, here, there], jobs, strict=True)]
    assert [pending.done()[0].rows for pending in sent] == [5, 5, 5, 5]
    assert ids(here, target) == list(range(20))
    assert here.inspect("table", target)["properties"] == {"delta.appendOnly": "true"}
    assert sum(len(each["write_ids"]) for each in versions(here, target)) == 4


def waiting(target: Dataset, *, mode: str = "overwrite-partitions", **more: Any) -> JobPlan:
    """A job that replaces partition 0, or all of them, and goes on writing until the gate is opened."""
    rows = step("rows", "SELECT 'ours' AS mark, 0 AS part FROM gate, range(3) WHERE seen > 0")
    return job(output("rows", target, mode=mode, **more), steps=[gate(target), rows], name="waiting")


@pytest.mark.parametrize("conflict", ["last-wins", "fail", pytest.param("rerun", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_job_that_is_overtaken_while_it_writes(here: LiveEngine, target: Dataset, conflict: str) -> None:
    here.run(replacing(target, "old", "0, 1"))
    overtaken = here.start_job(waiting(target, conflict=conflict))
    overtake(here, target, THEIRS)
    if conflict == "fail":
        failed = overtaken.failed()
        assert (failed.code, failed.retryable) == ("partitions-changed", True)
        assert marks(here, target) == [(0, "old", 3), (0, "theirs", 1), (1, "old", 3)]
    else:
        overtaken.done()
        again = "trying again" if conflict == "last-wins" else "the job runs again on the new state"
        assert again in str([note.data for note in overtaken.notes if note.event == "warning"])
        assert marks(here, target) == [(0, "ours", 3), (1, "old", 3)]


@pytest.mark.parametrize("conflict", ["fail", pytest.param("rerun", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_full_overwrite_does_not_replace_what_it_has_not_seen(
    here: LiveEngine, target: Dataset, conflict: str
) -> None:
    here.run(replacing(target, "old", "0, 1"))
    overtaken = here.start_job(waiting(target, mode="overwrite", conflict=conflict))
    overtake(here, target, "'theirs', 1")
    if conflict == "fail":
        failed = overtaken.failed()
        assert (failed.code, failed.retryable) == ("partitions-changed", True)
        assert marks(here, target) == [(0, "old", 3), (1, "old", 3), (1, "theirs", 1)]
    else:
        overtaken.done()
        assert "the job runs again" in str([note.data for note in overtaken.notes if note.event == "warning"])
        assert marks(here, target) == [(0, "ours", 3)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["overwrite", "overwrite-partitions"])
def test_files_that_are_only_rearranged_are_no_conflict(here: LiveEngine, target: Dataset, mode: str) -> None:
    for mark in ("one", "two"):
        here.run(writing(f"SELECT '{mark}' AS mark, 0 AS part", target, name=mark, mode="append", partitions=PART))
    overtaken = here.start_job(waiting(target, mode=mode, conflict="fail"))
    with at_gate(here, target):
        here.ask(f"OPTIMIZE {target.identifier}")
    overtaken.done()
    assert marks(here, target) == [(0, "ours", 3)]
    assert [each["operation"] for each in versions(here, target)] == [
        "create table",
        *["write"] * 2,
        "optimize",
        "write",
    ]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_table_that_others_make_and_fill_first_is_a_conflict(
    here: LiveEngine, there: LiveEngine, place: Path, target: Dataset
) -> None:
    aside = delta_table(f"{target.table}_aside", place)
    slow = waiting(aside, partitions=PART)
    late = output("rows", target, mode="overwrite", conflict="fail", name="late")
    both = here.start_job(job(*slow.outputs, late, steps=slow.steps))
    both.wait_for("writing")
    there.run(replacing(target, "theirs", "0"))
    overtake(here, aside, THEIRS)
    assert both.failed().code == "partitions-changed"
    assert marks(here, target) == [(0, "theirs", 3)]


@pytest.mark.slow
@pytest.mark.parametrize(("part", "kept"), [(0, False), (1, True)])
@pytest.mark.exhaustive
def test_a_job_that_is_overtaken_before_it_writes(
    here: LiveEngine, there: LiveEngine, place: Path, target: Dataset, part: int, *, kept: bool
) -> None:
    here.run(replacing(target, "old", "0, 1"))
    aside = delta_table(f"{target.table}_aside", place)
    here.run(replacing(aside, "old", "0"))
    slow = waiting(aside)
    late = output("rows", target, mode="overwrite-partitions", conflict="fail", name="late")
    both = here.start_job(job(*slow.outputs, late, steps=slow.steps))
    both.wait_for("writing")
    there.run(writing(f"SELECT 'theirs' AS mark, {part} AS part", target, mode="append"))
    overtake(here, aside, THEIRS)
    if kept:
        both.done()
        assert marks(here, target) == [(0, "ours", 3), (1, "old", 3), (1, "theirs", 1)]
    else:
        assert both.failed().code == "partitions-changed"
        assert marks(here, target) == [(0, "old", 3), (0, "theirs", 1), (1, "old", 3)]


@pytest.mark.slow
def test_killed_after_the_commit_the_write_is_recovered(
    here: LiveEngine, ledger: Filled, place: Path, start_engine: Callable[..., LiveEngine], target: Dataset
) -> None:
    here.run(appending(target, 0))
    lost, run = writing("SELECT id FROM range(5, 10)", target, name="lost"), f"r-{target.table}"
    victim = start_engine(delta_depot(place), key="victim", fault="own-commit-applied:kill")
    assert isinstance(victim.start_job(lost, run=run).answer(), EngineLost)
    write = ledger.find(f"{run}/lost/out")
    assert (write.state, ids(here, target)) == ("open", list(range(5, 10)))
    forget_engine(ledger.store, write.intent.owner)
    [done] = here.recover(target)
    assert (done["published"], done["abandoned"], done["error"]) == ([write.write_id], [], None)
    [report] = here.run(lost, run=run, number=2)
    assert (report.rows, report.snapshot_id) == (5, "2")
    assert ids(here, target) == list(range(5, 10))
    assert ledger.left(target.address) == []


def test_a_lost_write_is_given_up_by_whoever_writes_next(
    here: LiveEngine, ledger: Filled, target: Dataset, fresh: str
) -> None:
    here.run(appending(target, 0))
    ledger.open(f"r-{fresh}/lost/out", target=target.address, buffered=False, place=target.path)
    pending = here.start_job(appending(target, 5))
    pending.done()
    [warning] = [note for note in pending.notes if note.event == "warning"]
    assert f"left r-{fresh}/lost/out unfinished" in warning.data["message"]
    assert ledger.states(f"r-{fresh}/lost/out") == ["abandoned"]


@pytest.mark.slow
def test_an_answer_that_is_lost_is_no_second_write(
    place: Path, start_engine: Callable[..., LiveEngine], target: Dataset
) -> None:
    deaf = start_engine(delta_depot(place), key="deaf", fault="own-commit-applied:lose")
    [report] = deaf.run(writing("SELECT id FROM range(5)", target))
    assert (report.rows, report.snapshot_id) == (5, "1")
    assert ids(deaf, target) == list(range(5))


@pytest.mark.slow
def test_rows_that_do_not_fit_are_refused(here: LiveEngine, ledger: Filled, target: Dataset) -> None:
    here.run(writing("SELECT 1 AS id, 'a' AS text", target))
    for sql, said in (
        ("SELECT 1 AS id", "column text (string) is missing"),
        ("SELECT 1 AS id, 'a' AS text, 1 AS extra", "column extra (int) is not in the table"),
        ("SELECT 5000000000L AS id, 'a' AS text", "column id is bigint in the rows and int in the table"),
    ):
        failed = here.fail(writing(sql, target, mode="append"))
        assert (failed.code, failed.retryable) == ("schema-mismatch", False)
        assert said in failed.message
    wider = writing("SELECT 5000000000L AS id, 'a' AS text", target, mode="append", merge_schema=True)
    assert here.fail(wider, run=f"r-{target.table}").code == "schema-mismatch"
    assert ledger.states(f"r-{target.table}/job/out") == ["abandoned"]
    assert len(versions(here, target)) == 2


@pytest.mark.slow
def test_columns_are_matched_by_name_widened_added_and_filled(here: LiveEngine, target: Dataset) -> None:
    here.run(writing("SELECT 1L AS id, 'a' AS text", target))
    here.run(writing("SELECT 'b' AS TEXT, 2 AS id", target, mode="append"))
    here.run(writing("SELECT 3L AS id, 'new' AS extra", target, mode="append", merge_schema=True))
    found = here.rows(f"SELECT id, text, extra FROM {target.identifier} ORDER BY id")
    assert found == [(1, "a", None), (2, "b", None), (3, None, "new")]
    assert here.fail(writing("SELECT 4L AS id, NULL AS none", target, merge_schema=True)).code == "type-not-storable"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_two_jobs_that_add_different_columns_at_once(here: LiveEngine, there: LiveEngine, target: Dataset) -> None:
    here.run(writing("SELECT 0 AS id", target))
    sent = [
        engine.start_job(writing(f"SELECT {n} AS id, {n} AS extra_{n}", target, mode="append", merge_schema=True))
        for n, engine in ((1, here), (2, there))
    ]
    for pending in sent:
        pending.done()
    found = here.rows(f"SELECT id, extra_1, extra_2 FROM {target.identifier} ORDER BY id")
    assert found == [(0, None, None), (1, 1, None), (2, None, 2)]


def test_partitions_are_columns_and_those_of_the_table(here: LiveEngine, target: Dataset) -> None:
    sql = "SELECT now() AS at, 1 AS part"
    assert here.fail(writing(sql, target, partitions=(by("month", "at"),))).code == "partition-invalid"
    assert here.fail(writing(sql, target, partitions=(by("identity", "nowhere"),))).code == "column-not-found"
    here.run(writing(sql, target, partitions=PART))
    assert here.fail(writing(sql, target, partitions=(by("identity", "at"),))).code == "partition-spec-differs"


@pytest.mark.slow
def test_looking_at_tables(here: LiveEngine, target: Dataset) -> None:
    work = writing("SELECT id, id % 2 AS part FROM range(4)", target, name="writer", partitions=PART, comment="said")
    here.run(work, run="r-7")
    listed = here.inspect("tables", Dataset("", "events", "delta", path=str(Path(str(target.path)).parents[1])))
    entry = {"namespace": "raw", "table": target.table, "address": target.address}
    assert entry in listed["tables"]
    made, written = versions(here, target)
    assert (made["operation"], made["write_ids"]) == ("create table", [])
    assert written["committed_at"].endswith("+00:00")
    del written["committed_at"]
    assert written == {
        "snapshot_id": "1",
        "operation": "write",
        "workflow": "workflow",
        "job": "writer",
        "run_id": "r-7",
        "write_ids": ["r-7/writer/out"],
        "writes": [{"write_id": "r-7/writer/out", "rows": 4}],
        "added_rows": 4,
    }
    facts = here.inspect("table", target)
    assert (facts["rows"], facts["snapshot_id"], facts["snapshots"]) == (4, "1", 2)
    assert [column["name"] for column in facts["columns"]] == ["id", "part"]
    assert facts["partitions"] == [{"name": "part", "transform": "identity", "column": "part"}]
    files = here.inspect("files", target)["files"]
    assert (len(files), sum(entry["rows"] for entry in files)) == (facts["files"], 4)
    assert all(Path(entry["path"]).stat().st_size == entry["bytes"] for entry in files)


def test_a_table_that_is_not_there(here: LiveEngine, target: Dataset) -> None:
    reading = job(output("rows", table("x")), inputs=[InputPlan("rows", target, HERE)])
    assert here.fail(reading).code == "table-not-found"


@pytest.mark.slow
def test_both_lines_of_spark_write_one_table(
    here: LiveEngine, start_spark_3: Callable[..., LiveEngine], place: Path, target: Dataset
) -> None:
    older = start_spark_3(delta_depot(place), key="older")
    older.run(replacing(target, "a", "1, 2"))
    here.run(replacing(target, "b", "2, NULL"))
    [report] = older.run(replacing(target, "c", "NULL", conflict="fail"), run=f"r-{target.table}")
    assert report.snapshot_id == "3"
    assert older.run(replacing(target, "c", "NULL"), run=f"r-{target.table}", number=2) == (report,)
    assert marks(here, target) == [(None, "c", 3), (1, "a", 3), (2, "b", 3)]
    overtaken = older.start_job(waiting(target, conflict="fail"))
    overtake(older, target, THEIRS)
    assert overtaken.failed().code == "partitions-changed"
    assert older.inspect("table", target)["snapshots"] == 5
