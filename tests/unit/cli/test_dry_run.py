"""`run --dry-run`, `--with-data` and `--sample`, as far as they go without an engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from catchment.cli.program import program
from tests.cli import projects

Invoke = Callable[..., Result]
ID, TEXT = {"name": "id", "type": "int"}, {"name": "text", "type": "string"}
INPUT = {"kind": "input", "name": "trips", "dataset": "dataos://dropzone:none/trips.json", "from_job": None}
STEP = {"kind": "step", "name": "result", "dataset": None, "from_job": None}
NOTHING: dict[str, Any] = {"reason": None, "error": None, "views": [], "outputs": []}
OUTPUT = {"name": "result", "dataset": "dataos://lakehouse:raw/t", "mode": "append", "columns": [ID, TEXT], "rows": 3}


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    projects.make(tmp_path)
    (tmp_path / "flow.yaml").write_text(projects.workflow("flow", projects.job("one", "SELECT 1 AS one")))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(program, ["run", "flow.yaml", *arguments])

    return call


def answer(monkeypatch: pytest.MonkeyPatch, *jobs: dict[str, Any]) -> list[int | None]:
    """Let the engine answer this; returns the samples that it is asked for."""
    samples: list[int | None] = []

    def dry_run(*_: object, sample: int | None, **__: object) -> list[dict[str, Any]]:
        samples.append(sample)
        return [{**NOTHING, **job} for job in jobs]

    monkeypatch.setattr("catchment.run.dry_run.dry_run", dry_run)
    return samples


def test_columns_rows_and_outputs_are_shown(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    views = [{**INPUT, "columns": [ID], "rows": [[1], [2]]}, {**STEP, "columns": [TEXT], "rows": [["x" * 100]]}]
    table = [{"name": "ID", "type": "bigint"}, {"name": "gone", "type": "date"}]
    answer(monkeypatch, {"name": "one", "views": views, "outputs": [{**OUTPUT, "table_columns": table}]})
    done = invoke("--sample", "5")
    assert done.exit_code == 0
    lines = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0] == "job one"
    assert lines[1] == "  input trips of dataos://dropzone:none/trips.json: id int"
    assert [line.strip() for line in lines[2:6:3]] == ["id", "2"]
    assert f"{'x' * 59}…" in lines
    changes = "column id bigint as int, new column text string, without column gone"
    assert lines[-1] == f"  output result: append dataos://lakehouse:raw/t, 3 rows, {changes}"
    assert "on at most 5 rows of each input: nothing was written" in done.stderr


def test_a_job_that_fails_or_is_not_tried(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    error = {"code": "sql-syntax", "message": "no", "hint": "mend it", "file": "flow.yaml", "line": 3, "column": 4}
    answer(monkeypatch, {"name": "one", "error": error}, {"name": "two", "reason": "it needs one, which failed"})
    done = invoke("--dry-run")
    assert done.exit_code == 1
    assert "error[sql-syntax]: no" in done.stderr
    assert "not tried: it needs one, which failed" in done.stdout
    assert [job["name"] for job in json.loads(invoke("--dry-run", "-o", "json").stdout)["jobs"]] == ["one", "two"]


def test_how_much_is_read(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = answer(monkeypatch, {"name": "one"})
    for options in (["--dry-run"], ["--dry-run", "--with-data"], ["--sample", "7"], ["--dry-run", "--sample", "7"]):
        assert invoke(*options).exit_code == 0
    assert samples == [None, 1000, 7, 7]


@pytest.mark.parametrize("options", ["--with-data", "--dry-run --wait", "--sample 3 --detach", "--dry-run --jobs 2"])
def test_options_that_a_dry_run_does_not_have(invoke: Invoke, options: str) -> None:
    done = invoke(*options.split())
    assert (done.exit_code, "error[option-without-effect]" in done.stderr) == (2, True)
