"""Rows that cannot be parsed: found whatever a query asks for, and then the job fails, or they are dropped or kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment.engine.protocol import Done
from catchment.plan.model import BadRows, Dataset, InputPlan, JobPlan
from catchment.run_model import InputResult
from tests.spark.lake import LiveEngine, files, job, output, reading, step, table, windowed

SCHEMA = "id INT, name STRING, n INT"
BROKEN_JSON = '{"id": 1, "name": "a", "n": 1}\n{"id": 2, "name": "b", "n": 2}\n{"id": 3, "na\n'
BAD_VALUE_JSON = '{"id": 1, "name": "a", "n": 1}\n{"id": 2, "name": "b", "n": 2}\n{"id": 3, "name": "c", "n": "x"}\n'
CSV = "id,name,n\n1,a,1\n2,b,2\n"
GOOD = [(1, "a"), (2, "b")]
CASES = {
    "broken JSON": ("json", BROKEN_JSON, SCHEMA, 3, "not valid JSON"),
    "broken JSON without a schema": ("json", BROKEN_JSON, None, 3, "not valid JSON"),
    "a bad value in JSON": ("json", BAD_VALUE_JSON, SCHEMA, 3, "n: 'x' is not INT"),
    "a bad value in CSV": ("csv", CSV + "3,c,x\n", SCHEMA, 4, "n: 'x' is not INT"),
    "too few columns": ("csv", CSV + "3,c\n", SCHEMA, 4, "not 3 columns"),
    "too many columns": ("csv", CSV + "3,c,3,4\n", None, 4, "not 3 columns"),
}
case = pytest.mark.parametrize("kind", CASES)


def source(tmp_path: Path, kind: str, bad_rows: BadRows = "fail", **options: str) -> InputPlan:
    format, text, schema, *_ = CASES[kind]
    (tmp_path / "rows").mkdir(exist_ok=True)
    (tmp_path / "rows" / f"part 1.{format}").write_text(text)
    plain = reading("rows", files(tmp_path / "rows", format), **options)
    return replace(plain, schema=schema, bad_rows=bad_rows)


def picking(source: InputPlan, target: Dataset, sql: str = "SELECT id, name FROM rows WHERE id < 9") -> JobPlan:
    """A job that needs neither the bad column nor the bad row."""
    return job(output("few", target), inputs=[source], steps=[step("few", sql)])


def done(engine: LiveEngine, work: JobPlan, **more: Any) -> Done:
    reply = engine.start_job(work, **more).answer()
    assert isinstance(reply, Done), reply
    return reply


def rows(engine: LiveEngine, name: str) -> list[tuple[Any, ...]]:
    return sorted((int(id), name) for id, name in engine.rows(f"SELECT id, name FROM lake.raw.{name}"))


@case
def test_a_bad_row_fails_the_job_although_its_query_does_not_need_it(
    engine: LiveEngine, fresh: str, tmp_path: Path, kind: str
) -> None:
    *_, line, reason = CASES[kind]
    pending = engine.start_job(picking(source(tmp_path, kind), table(fresh), "SELECT id FROM rows WHERE name = 'a'"))
    failed = pending.failed()
    assert failed.code == "bad-rows"
    assert "input rows has 1 bad row in 1 file" in failed.message
    place = next((tmp_path / "rows").iterdir())
    assert f"{place}:{line} ({reason})" in failed.message
    [note] = [note.data for note in pending.notes if note.event == "bad-rows"]
    assert (note["rows"], note["first"]) == (1, [{"file": str(place), "line": line, "reason": reason}])


@case
def test_bad_rows_are_dropped_and_counted(engine: LiveEngine, fresh: str, tmp_path: Path, kind: str) -> None:
    reply = done(engine, picking(source(tmp_path, kind, "drop"), table(fresh)))
    assert (
        reply.inputs == (InputResult("rows", f"dataos://drop:none/{tmp_path.name}", 1),)
        or reply.inputs[0].bad_rows == 1
    )
    assert rows(engine, fresh) == GOOD


def test_counting_only_sees_bad_rows_too(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    counting = "SELECT count(*) AS n FROM rows"
    assert engine.fail(picking(source(tmp_path, "a bad value in CSV"), table(fresh), counting)).code == "bad-rows"
    done(engine, picking(source(tmp_path, "a bad value in CSV", "drop"), table(fresh), counting))
    assert engine.rows(f"SELECT n FROM lake.raw.{fresh}") == [(2,)]


def quarantining(target: Dataset, bad: Dataset, read: InputPlan) -> JobPlan:
    read = replace(read, quarantine="rows-bad-rows")
    plain = picking(read, target)
    return replace(plain, outputs=(*plain.outputs, output("rows-bad-rows", bad, name="rows-bad-rows", mode="append")))


@pytest.mark.parametrize("kept", ["table", "json"])
def test_quarantined_rows_are_written_once_with_their_reason(
    engine: LiveEngine, fresh: str, tmp_path: Path, kept: str
) -> None:
    bad = table(f"{fresh}bad") if kept == "table" else files(tmp_path / "bad", "json")
    work = quarantining(table(fresh), bad, source(tmp_path, "a bad value in JSON", "quarantine"))
    for _ in range(2):  # the second attempt of the run finds everything done
        reply = done(engine, work, run=f"run-{fresh}")
        assert [result.rows for result in reply.outputs] == [2, 1]
        assert [result.bad_rows for result in reply.inputs] == [1]
    assert rows(engine, fresh) == GOOD
    place = f"lake.raw.{fresh}bad" if kept == "table" else f"json.`{tmp_path / 'bad'}`"
    [(run, job, name, file, reason, record)] = engine.rows(
        f"SELECT run_id, job, input, file, reason, record FROM {place}"
    )
    assert (run, job, name) == (f"run-{fresh}", "job", "rows")
    assert file.endswith("/rows/part%201.json")
    assert (reason, record) == ("n: 'x' is not INT", '{"id": 3, "name": "c", "n": "x"}')


@pytest.mark.slow
def test_windows_over_files_count_the_bad_rows_of_all_files(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    plain = source(tmp_path, "a bad value in JSON", "drop")
    keys = {"low": "SELECT 0", "high": "SELECT $|low| + 1"}
    window = windowed("rows", plain.dataset, "SELECT id, name FROM all_rows WHERE id = $|high|", keys, {"low": "high"})
    work = job(output("rows", table(fresh), mode="append"), inputs=[replace(plain, incremental=window.incremental)])
    assert [result.bad_rows for result in done(engine, work, windows=2).inputs] == [1]
    assert rows(engine, fresh) == GOOD
    failing = replace(work, inputs=(replace(work.inputs[0], bad_rows="fail"),))
    assert engine.fail(failing, workflow=fresh).code == "bad-rows"


def test_bad_rows_of_several_lines_have_no_line_number(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    for name, text in (("a.csv", 'id,name,n\n1,"a\nb",1\n2,c\n'), ("a.json", '[{"id": 1},\n{"id": "x"}]')):
        (tmp_path / name).write_text(text)
        read = reading("rows", files(tmp_path / name, name.partition(".")[2]), multiLine="true")
        failed = engine.fail(picking(replace(read, schema=SCHEMA), table(fresh)))
        assert (failed.code, f"{name} (" in failed.message) == ("bad-rows", True), failed


def test_permissive_rows_are_kept_as_spark_keeps_them(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    kept = source(tmp_path, "a bad value in CSV", "keep", mode="PERMISSIVE")
    kept = replace(kept, schema=f"{SCHEMA}, _corrupt_record STRING")
    reply = done(engine, picking(kept, table(fresh), "SELECT * FROM rows"))
    assert [result.bad_rows for result in reply.inputs] == [None]
    assert (3, "c", None, "3,c,x") in engine.rows(f"SELECT * FROM lake.raw.{fresh}")
    assert engine.fail(picking(replace(kept, bad_rows="fail", options={}), table(fresh))).code == "schema-invalid"


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
def test_a_damaged_file_is_named(engine: LiveEngine, fresh: str, tmp_path: Path, format: str) -> None:
    place = files(tmp_path / "rows", format)
    engine.run(job(output("one", place), steps=[step("one", "SELECT 1 AS id, 'a' AS name")]))
    (tmp_path / "rows" / f"damaged.{format}").write_bytes(b"no such format" * 20)
    for schema in (None, "id INT, name STRING"):
        failed = engine.fail(picking(replace(reading("rows", place), schema=schema), table(fresh)))
        assert (failed.code, f"damaged.{format}" in failed.message) == ("input-damaged", True), failed


@pytest.mark.parametrize("format", ["json", "csv"])
def test_nothing_makes_no_table_without_columns(engine: LiveEngine, fresh: str, tmp_path: Path, format: str) -> None:
    (tmp_path / "rows").mkdir()
    empty = reading("rows", files(tmp_path / "rows", format))
    whole = "SELECT * FROM rows"
    assert engine.fail(picking(empty, table(fresh), whole)).code == "input-empty"
    (tmp_path / "rows" / f"a.{format}").touch()
    for each in ("fail", "drop", "keep"):
        assert engine.fail(picking(replace(empty, bad_rows=each), table(fresh), whole)).code == "input-empty"
    done(engine, picking(replace(empty, schema=SCHEMA), table(fresh), whole))
    assert engine.ask(f"SELECT * FROM lake.raw.{fresh}").columns == ("id", "name", "n")


def test_records_that_show_no_column_are_not_enough_for_a_table(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text("nonsense\n")
    nonsense = reading("rows", files(tmp_path / "rows.json", "json"))
    failed = engine.fail(picking(nonsense, table(fresh), "SELECT * FROM rows"))
    assert (failed.code, "rows.json:1 (not valid JSON)" in failed.message) == ("bad-rows", True)
    assert engine.fail(picking(replace(nonsense, bad_rows="drop"), table(fresh))).code == "input-empty"
