import json
from dataclasses import replace

import click
import pytest

from catchment.cli import run_result
from catchment.run.results import ErrorReport, JobResult, Run, RunStatus
from catchment.run_model import InputResult, OutputResult

WRITTEN = OutputResult("trips", "dataos://lake:raw/trips", 5, 2, str(2**62 + 1), "r1/one/trips")
READ = (InputResult("rows", "dataos://drop:none/a.csv", 3), InputResult("more", "dataos://lake:raw/more", None))
DONE = JobResult("one", "succeeded", 1, 2.04, None, (WRITTEN, WRITTEN), READ)
BROKEN = JobResult("two", "failed", 3, 0.5, ErrorReport("sql-syntax", "bad SQL", "mend it", "t.yaml", 4, 7), ())


def a_run(status: RunStatus) -> Run:
    return Run("r1", "taxi", status, 3.26, (DONE, BROKEN))


@pytest.fixture(autouse=True)
def context() -> object:
    with click.Context(click.Command("test")) as ctx:
        yield ctx


def test_json_has_the_documented_shape(capsys: pytest.CaptureFixture[str]) -> None:
    run_result.echo(a_run("failed"), "json")
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) == {"run_id", "workflow", "status", "seconds", "jobs", "environment", "variables", "left_out"}
    fields = {"name", "status", "attempts", "seconds", "error", "outputs", "inputs", "engine_seconds", "kept"}
    assert [set(job) for job in answer["jobs"]] == [fields] * 2
    assert answer["jobs"][0]["inputs"][0] == {"name": "rows", "dataset": "dataos://drop:none/a.csv", "bad_rows": 3}
    assert answer["jobs"][0]["outputs"][0] == {
        "name": "trips",
        "dataset": "dataos://lake:raw/trips",
        "rows": 5,
        "files": 2,
        "snapshot_id": str(2**62 + 1),
        "write_id": "r1/one/trips",
    }
    assert answer["jobs"][1]["error"]["code"] == "sql-syntax"


def test_text_has_a_line_per_output(capsys: pytest.CaptureFixture[str]) -> None:
    run_result.echo(a_run("failed"), "text")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run r1 of taxi: failed after 3.3 s"
    assert [line.split()[:2] for line in lines[4:7]] == [
        ["one", "succeeded"],
        ["dataos://lake:raw/trips", "5"],
        ["two", "failed"],
    ]
    assert [line.split() for line in lines[8:] if "dataos" in line] == [["one", "dataos://drop:none/a.csv", "3"]]
    assert str(2**62 + 1) in lines[4]


def test_text_tells_the_start_of_engines_and_kept_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = (replace(DONE, kept=True, engine_seconds=30.0), replace(BROKEN, engine_seconds=9.06))
    run_result.echo(Run("r1", "taxi", "failed", 12.0, jobs), "text")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run r1 of taxi: failed after 12.0 s, 9.1 s of it to start Spark"
    assert lines[4].split()[:2] == ["one", "kept"]


def test_errors_are_told_with_job_place_and_hint(capsys: pytest.CaptureFixture[str]) -> None:
    run_result.echo_errors(a_run("failed"))
    assert capsys.readouterr().err.splitlines() == [
        "two: error[sql-syntax]: bad SQL",
        "    at t.yaml:4:7",
        "    hint: mend it",
    ]


@pytest.mark.parametrize(("status", "code"), [("succeeded", 0), ("failed", 1), ("cancelled", 130), ("dead", 1)])
def test_the_outcome_is_an_exit_code(status: RunStatus, code: int) -> None:
    assert run_result.exit_code(a_run(status)) == code
