"""What goes wrong inside a job, and where it says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catchment.errors import Position
from catchment.plan.model import InputPlan, StepPlan
from catchment.spec.model import SaveMode, SourceLine
from tests.concurrency.waiting import await_pending, held, until
from tests.ledgers import Filled
from tests.spark.lake import (
    HERE,
    LiveEngine,
    by,
    changing,
    delta_table,
    files,
    job,
    merging,
    output,
    reading,
    step,
    table,
    writing,
)
from tests.spark.overtaking import at_gate, passing


@pytest.mark.parametrize(
    ("sql", "code", "column"),
    [
        ("SELECT id FORM range(3)", "sql-syntax", 41 + 15),
        ("SELECT id, nothing FROM range(3)", "column-not-found", 41 + 11),
        ("SELECT id FROM no_such_view", "table-or-view-not-found", 41 + 15),
        ("SELECT nofunc(id) FROM range(3)", "sql-failed", 41 + 7),
        ("", "sql-syntax", 41),
    ],
)
def test_bad_sql_is_found_at_its_place(engine: LiveEngine, fresh: str, sql: str, code: str, column: int) -> None:
    steps = [StepPlan("rows", sql, HERE, Position("w.yaml", 7, 41), (SourceLine(0, 7, 41),))]
    failed = engine.fail(job(output("rows", table(fresh)), steps=steps))
    assert (failed.code, failed.where) == (code, Position("w.yaml", 7, column))
    assert "\n" not in failed.message
    assert not failed.retryable
    assert failed.detail


def test_the_place_survives_several_lines(engine: LiveEngine, fresh: str) -> None:
    sql = "SELECT id\nFROM range(3)\nWHERE nothing = 1"
    lines = (SourceLine(0, 10, 5), SourceLine(10, 11, 5), SourceLine(24, 12, 9))
    steps = [StepPlan("rows", sql, HERE, Position("w.yaml", 10, 5), lines)]
    failed = engine.fail(job(output("rows", table(fresh)), steps=steps))
    assert failed.where == Position("w.yaml", 12, 15)


def test_what_fails_while_data_moves_is_found_in_its_step(engine: LiveEngine, fresh: str) -> None:
    lines = (SourceLine(0, 3, 10),)
    steps = [
        StepPlan("first", "SELECT id, 10 DIV (id - 2) AS x FROM range(5)", HERE, Position("w.yaml", 3, 10), lines),
        step("rows", "SELECT * FROM first"),
    ]
    failed = engine.fail(job(output("rows", table(fresh)), steps=steps))
    assert (failed.code, failed.where) == ("write-failed", Position("w.yaml", 3, 10 + 11))
    assert "zero" in failed.message


def test_a_missing_path(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    source = InputPlan("trips", files(tmp_path / "nothing", "json"), Position("w.yaml", 5, 3))
    failed = engine.fail(job(output("trips", table(fresh)), inputs=[source]))
    assert (failed.code, failed.where) == ("input-not-found", Position("w.yaml", 5, 3))
    assert str(tmp_path / "nothing") in failed.message


def test_an_empty_path(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    source = InputPlan("trips", files(tmp_path, "parquet"), HERE)
    assert engine.fail(job(output("trips", table(fresh)), inputs=[source])).code == "input-empty"


def test_a_missing_table(engine: LiveEngine, fresh: str) -> None:
    source = InputPlan("trips", table("no_such_table"), Position("w.yaml", 5, 3))
    failed = engine.fail(job(output("trips", table(fresh)), inputs=[source]))
    assert (failed.code, failed.where) == ("table-not-found", Position("w.yaml", 5, 3))


def test_a_setting_that_spark_refuses(engine: LiveEngine, fresh: str) -> None:
    work = job(output("rows", table(fresh)), steps=[step("rows", "SELECT 1")], conf={"spark.sql.warehouse.dir": "x"})
    assert engine.fail(work).code == "setting-refused"


def test_the_log_of_a_failed_job_has_the_whole_story(engine: LiveEngine, fresh: str) -> None:
    engine.fail(writing("SELECT nothing FROM range(3)", table(fresh), name=fresh))
    log = engine.log(fresh)
    assert "SELECT nothing FROM range(3)" in log
    assert "column-not-found" in log
    assert "org.apache.spark.sql" in log


def test_a_bad_query(engine: LiveEngine) -> None:
    assert engine.refused_query("SELECT 1 FORM x").code == "sql-syntax"


OTHERS = ("another", "others", "retry.num-retries")
"""Words about writers that are not there."""


@pytest.mark.parametrize(
    ("sql", "more", "code", "said"),
    [
        ("SELECT 'x' AS text", {"partitions": (by("day", "text"),)}, "partition-invalid", "Invalid source type string"),
        ("SELECT id, id FROM range(3)", {}, "type-not-storable", "multiple fields for name id"),
    ],
)
def test_what_iceberg_refuses_is_not_blamed_on_other_writers(
    engine: LiveEngine, fresh: str, sql: str, more: dict[str, Any], code: str, said: str
) -> None:
    failed = engine.fail(writing(sql, table(fresh), **more))
    assert (failed.code, failed.retryable) == (code, False)
    assert said in failed.message
    assert not [word for word in OTHERS if word in f"{failed.message} {failed.hint}"]


def test_reading_a_branch_that_is_not_there_is_no_conflict(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT id FROM range(3)", table(fresh)))
    query = engine.refused_query(f"SELECT * FROM lake.raw.{fresh}.branch_none")
    job_of_it = job(output("rows", table(f"{fresh}_copy")), inputs=[reading("rows", table(fresh), branch="none")])
    for failed in (query, engine.fail(job_of_it)):
        assert (failed.code, failed.retryable) == ("iceberg-refused", False)
        assert "Cannot use branch (does not exist): none" in failed.message
        assert not [word for word in OTHERS if word in f"{failed.message} {failed.hint}"]


def test_a_file_of_the_table_that_is_missing_is_named_at_once(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    """Not after five minutes, and not as the work of other writers; the sealed write is published later."""
    work = writing("SELECT 1L AS id", table(fresh), mode="append")
    engine.run(work)
    engine.ask(f"INSERT INTO lake.raw.{fresh} VALUES (2)")  # an engine keeps the lists of its own commits in memory
    place = engine.rows(f"SELECT manifest_list FROM lake.raw.{fresh}.snapshots ORDER BY committed_at")[-1][0]
    manifests = Path(place.removeprefix("file:"))
    away = manifests.rename(manifests.with_suffix(".away"))
    for name, commit in (("buffered", "buffered"), ("direct", "direct")):
        failed = engine.fail(
            writing("SELECT 1L AS id", table(fresh), mode="append", name=name, commit=commit), run=f"r-{fresh}"
        )
        assert (failed.code, failed.retryable) == ("table-file-missing", False)
        assert manifests.name in failed.message
    assert filled.states(f"r-{fresh}/buffered/out") == ["sealed"]
    away.rename(manifests)
    [recovered] = engine.recover(table(fresh))
    assert recovered["published"] == [f"r-{fresh}/buffered/out"]
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 3


def test_columns_that_iceberg_keeps_for_itself_are_refused(engine: LiveEngine, fresh: str) -> None:
    for name in ("_file", "_POS", "_row_id"):
        assert engine.fail(writing(f"SELECT 1 AS id, 2 AS {name}", table(fresh))).code == "reserved-column"
    assert engine.refused_query(f"SELECT * FROM lake.raw.{fresh}").code == "table-or-view-not-found"
    engine.run(writing("SELECT 1 AS id", table(fresh)))
    growing = writing("SELECT 1 AS id, 'x' AS _partition", table(fresh), mode="append", merge_schema=True)
    assert engine.fail(growing).code == "reserved-column"
    for change in (
        changing(table(fresh), "column_add", column="_spec_id", type="int"),
        changing(table(fresh), "column_rename", column="id", to="_deleted"),
    ):
        assert engine.start_change(change).failed().code == "reserved-column"


BAD_CAST = "SELECT CAST(IF(id = 30, 'x', '1') AS INT) AS id FROM range(0, 40, 1, 4)"


@pytest.mark.parametrize("kind", ["iceberg", "delta", "files", "merge"])
@pytest.mark.slow
def test_a_job_that_fails_is_no_crash(engine: LiveEngine, filled: Filled, root: Path, fresh: str, kind: str) -> None:
    """Its write is closed at once, with its reason; nothing is left to recover, and the next run warns of nothing."""
    targets = {"delta": delta_table(fresh, root), "files": files(root / "drop" / fresh, "csv")}
    target = targets.get(kind, table(fresh))
    engine.run(writing("SELECT 0 AS id", target, mode="append"))
    failing = (
        merging(BAD_CAST, target, "old.id = new.id", "NOT MATCHED THEN INSERT *")
        if kind == "merge"
        else writing(BAD_CAST, target, mode="append")
    )
    failed = engine.fail(failing, run=f"r-{fresh}")
    known = filled.find(f"r-{fresh}/job/out")
    assert (known.state, (known.error or {}).get("code")) == ("abandoned", failed.code)
    assert filled.left(target.target) == []
    later = engine.start_job(writing("SELECT 1 AS id", target, mode="append"))
    later.done()
    assert [note for note in later.notes if note.event == "warning"] == []
    buffers = list((root / "lake").glob(f"**/{fresh}/data/r-{fresh}.*"))
    assert [file for buffer in buffers for file in buffer.rglob("*") if file.is_file()] == []


def test_a_check_that_fails_says_which_and_how_often(engine: LiveEngine, fresh: str) -> None:
    large = "count_if(id > 2)"
    check = f"CASE WHEN {large} > 0 THEN raise_error({large} || ' of ' || count(*) || ' ids are large') ELSE 'fine' END"
    sql = f"SELECT {check} AS result FROM range(5)"
    steps = [StepPlan("rows", sql, HERE, Position("w.yaml", 7, 41), (SourceLine(0, 7, 41),))]
    failed = engine.fail(job(output("rows", table(fresh)), steps=steps, name=fresh))
    assert (failed.code, failed.where) == ("check-failed", Position("w.yaml", 7, 41 + sql.index("raise_error")))
    assert "a check failed: 2 of 5 ids are large" in failed.message
    checked = "SELECT id FROM range(5) WHERE assert_true(id < 3) IS NULL"
    assert engine.fail(writing(checked, table(fresh))).code == "check-failed"
    log = engine.log(fresh)
    assert "Traceback" not in log
    assert "\tat " not in log


def test_the_log_of_a_job_has_no_reprs(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT 1 AS id", table(fresh), name=fresh))
    first, *_, last = engine.log(fresh).splitlines()
    assert f"INFO job {fresh} of workflow workflow" in first
    assert "INFO output out done: rows 1, files 1, snapshot" in last


@pytest.mark.slow
def test_a_table_that_a_failed_write_has_created_goes_with_it(engine: LiveEngine, fresh: str) -> None:
    for work in (
        writing(BAD_CAST, table(fresh)),
        writing(BAD_CAST, table(fresh), mode="append", commit="direct"),
        merging(BAD_CAST, table(fresh), "old.id = new.id", "NOT MATCHED THEN INSERT *"),
    ):
        engine.fail(work)
        assert engine.refused_query(f"SELECT * FROM lake.raw.{fresh}").code == "table-or-view-not-found"
    engine.run(writing("SELECT 'other' AS columns", table(fresh)))
    engine.fail(writing("SELECT raise_error('no') AS columns", table(fresh)))
    assert engine.rows(f"SELECT * FROM lake.raw.{fresh}") == [("other",)]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_failed_write_leaves_no_files(engine: LiveEngine, tmp_path: Path, mode: SaveMode) -> None:
    engine.fail(writing(BAD_CAST, files(tmp_path / "new" / "rows", "parquet"), mode=mode))
    assert not (tmp_path / "new" / "rows").exists()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_it_stays_if_somebody_else_uses_it(
    engine: LiveEngine, elsewhere: LiveEngine, filled: Filled, fresh: str
) -> None:
    """The other one has sealed its write, and nothing is in the table yet."""
    failing = f"SELECT id + raise_error('no') AS id FROM range(1) WHERE {passing(table(fresh))}"
    creator = engine.start_job(writing(failing, table(fresh), mode="append", name="creator"))
    with held(filled.store, fresh):
        with at_gate(engine, table(fresh)):
            other = elsewhere.start_job(writing("SELECT 7L AS id", table(fresh), mode="append"))
            await_pending(filled, fresh, 1)
        assert creator.failed().code == "check-failed"
    assert other.done()[0].rows == 1
    assert engine.rows(f"SELECT * FROM lake.raw.{fresh}") == [(7,)]


def test_writers_of_a_new_table_do_not_wait_for_each_other(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    """They open their writes at once, and only then look whether the one who created it is about to drop it."""
    engine.ask(f"CREATE TABLE lake.raw.{fresh} (id BIGINT) USING iceberg")
    target = table(fresh).target
    dropping = filled.store.leases.acquire(f"creation/{target}", "the one who created it", 600.0)
    writers = [
        engine.start_job(writing(f"SELECT {n}L AS id", table(fresh), mode="append"), run=f"r{n}-{fresh}")
        for n in range(3)
    ]
    until(lambda: all(filled.ledger.state(f"r{n}-{fresh}/job/out") == "open" for n in range(3)))
    filled.store.leases.release(dropping)
    for writer in writers:
        writer.done()
    assert engine.value(f"SELECT count(DISTINCT id) FROM lake.raw.{fresh}") == 3


def test_a_writer_that_comes_while_its_table_is_dropped_creates_it_anew(
    engine: LiveEngine, filled: Filled, fresh: str
) -> None:
    engine.ask(f"CREATE TABLE lake.raw.{fresh} (id INT) USING iceberg")
    dropping = filled.store.leases.acquire(f"creation/{table(fresh).target}", "the one who created it", 600.0)
    late = engine.start_job(writing("SELECT 5 AS id", table(fresh), mode="append"), run=f"r-{fresh}")
    until(lambda: filled.ledger.state(f"r-{fresh}/job/out") == "open")
    engine.ask(f"DROP TABLE lake.raw.{fresh}")
    filled.store.leases.release(dropping)
    late.done()
    assert engine.rows(f"SELECT * FROM lake.raw.{fresh}") == [(5,)]
    assert filled.left(table(fresh).target) == []
