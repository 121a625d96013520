"""What goes wrong inside a job, and where it says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catchment.errors import Position
from catchment.plan.model import InputPlan, StepPlan
from catchment.spec.model import SourceLine
from tests.ledgers import Filled
from tests.spark.lake import (
    HERE,
    LiveEngine,
    by,
    changing,
    files,
    job,
    output,
    reading,
    step,
    table,
    writing,
)


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
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 0


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
    [place] = [row[0] for row in engine.rows(f"SELECT manifest_list FROM lake.raw.{fresh}.snapshots")]
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
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 2


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
