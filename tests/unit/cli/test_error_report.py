import errno
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from catchment import errors
from catchment.cli import error_report, options, program, projects

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Invoke:
    """Run the program with one more verb, `fail`, that raises what the test wants."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where crash logs go

    def call(error: BaseException, *arguments: str, secrets: tuple[str, ...] = ()) -> Result:
        @click.command()
        @options.output("text", "json")
        @options.debug
        def fail(output: str) -> None:
            click.get_current_context().meta[projects.SECRETS] = secrets
            raise error

        monkeypatch.setattr(program.Program, "get_command", lambda *_: fail)
        return CliRunner().invoke(program.program, ["fail", *arguments])

    return call


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.RequestError("x"), 2),
        (errors.InvalidFiles([errors.Diagnostic("bad-name", "x")]), 2),
        (errors.SetupError("x"), 2),
        (errors.LeaseHeld("x"), 4),
        (errors.Cancelled("x"), 130),
        (KeyboardInterrupt(), 130),
        (errors.JobError("x"), 1),
        (errors.EngineLost("x"), 1),
        (RuntimeError("x"), 1),
    ],
)
def test_every_kind_of_error_has_its_exit_code(invoke: Invoke, error: BaseException, code: int) -> None:
    assert invoke(error).exit_code == code


def test_an_error_says_what_where_and_what_next(invoke: Invoke) -> None:
    where = errors.Position("taxi.yaml", 7, 9)
    result = invoke(errors.JobError("no column 'x'", code="column-not-found", where=where, hint="look at the input"))
    assert result.stderr.splitlines() == [
        "taxi.yaml:7:9: error[column-not-found]: no column 'x'",
        "  hint: look at the input",
    ]
    assert result.stdout == ""


def test_stack_traces_are_for_debug_only(invoke: Invoke) -> None:
    error = errors.JobError("boom", detail="at org.apache.spark.Thing")
    plain, debugged = invoke(error), invoke(error, "--debug")
    assert "Traceback" not in plain.stderr
    assert "org.apache" not in plain.stderr
    assert "Traceback" in debugged.stderr
    assert "at org.apache.spark.Thing" in debugged.stderr


def test_a_bug_is_called_one_and_leaves_a_log(invoke: Invoke) -> None:
    result = invoke(ZeroDivisionError("s3cret in the text"), secrets=("s3cret",))
    log = re.search(r"report it with (\S+\.log)", result.stderr)
    assert "this is a bug in Catchment: ZeroDivisionError" in result.stderr
    assert "Traceback" not in result.stderr
    assert log
    kept = Path(log[1]).read_text()
    assert "Traceback" in kept
    assert "s3cret" not in kept + result.output


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            errors.SetupError("no java", code="java-missing", hint="install one"),
            {"code": "java-missing", "message": "no java", "hint": "install one", "file": None, "line": None},
        ),
        (
            errors.JobError("bad", where=errors.Position("a.yaml", 3, 4)),
            {"code": "job-failed", "file": "a.yaml", "line": 3, "column": 4},
        ),
        (KeyboardInterrupt(), {"code": "cancelled"}),
        (RuntimeError("odd"), {"code": "internal", "message": "odd"}),
    ],
)
def test_with_json_the_error_is_the_answer(invoke: Invoke, error: BaseException, expected: dict[str, Any]) -> None:
    answer = json.loads(invoke(error, "--output", "json").stdout)["error"]
    assert set(answer) == {"code", "message", "hint", "file", "line", "column"}
    assert {key: answer[key] for key in expected} == expected


def test_with_json_invalid_files_give_their_diagnostics(invoke: Invoke) -> None:
    result = invoke(errors.InvalidFiles([errors.Diagnostic("bad-name", "bad")]), "--output", "json")
    assert [d["code"] for d in json.loads(result.stdout)["diagnostics"]] == ["bad-name"]


def test_exit_codes_are_those_of_the_design() -> None:
    codes = (
        error_report.DONE,
        error_report.JOB_FAILED,
        error_report.WRONG_REQUEST,
        error_report.LEASE_HELD,
        error_report.INTERRUPTED,
    )
    assert codes == (0, 1, 2, 4, 130)


def test_a_full_disk_is_no_bug_of_ours(invoke: Invoke) -> None:
    result = invoke(OSError(errno.ENOSPC, "No space left on device", "/lake/events.jsonl"))
    assert "error[disk-full]: the disk is full: /lake/events.jsonl" in result.stderr
    assert "catchment resume" in result.stderr
