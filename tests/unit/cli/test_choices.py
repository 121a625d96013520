"""`--select`, `--exclude`, `--var`, `--env` and `--project` on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from catchment.cli.program import VERBS, program
from tests.cli import projects

Invoke = Callable[..., Result]
SETTINGS = (
    projects.SETTINGS
    + """\
vars: {zone: dropzone}
environments:
  prod: {vars: {zone: zone-of-prod}}
"""
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    projects.make(tmp_path, SETTINGS.replace("./dropzone", "'./${zone}'"))
    text = projects.workflow("daily", projects.job("one", "SELECT ${n}"), projects.job("two", "SELECT 2", after="one"))
    (tmp_path / "daily.yaml").write_text(f"vars: {{n: 1}}\n{text}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def invoke(root: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    def call(*arguments: str, **env: str) -> Result:
        monkeypatch.setattr("sys.argv", ["catchment", *arguments])
        return CliRunner(env=env).invoke(program, arguments)

    return call


def plan_of(answer: Result) -> dict[str, object]:
    assert answer.exit_code == 0, answer.stderr
    found = json.loads(answer.stdout)
    return {
        "jobs": [job["name"] for job in found["jobs"]],
        "sql": found["jobs"][0]["steps"][0]["sql"].strip(),
        "path": Path(found["jobs"][0]["inputs"][0]["dataset"]["path"]).parts[-2],
        **{key: found["choices"][key] for key in ("environment", "left_out")},
    }


def test_a_plan_is_cut_and_filled_in(invoke: Invoke) -> None:
    whole = plan_of(invoke("plan", "daily.yaml", "-o", "json"))
    assert whole == {
        "jobs": ["one", "two"], "sql": "SELECT 1", "path": "dropzone", "environment": None, "left_out": [],
    }  # fmt: skip
    options = ("--select", "one", "--var", "n=5", "--env", "prod")
    assert plan_of(invoke("plan", "daily.yaml", "-o", "json", *options)) == {
        "jobs": ["one"], "sql": "SELECT 5", "path": "zone-of-prod", "environment": "prod", "left_out": ["two"],
    }  # fmt: skip
    told = invoke("plan", "daily.yaml", *options).stdout
    assert "environment prod\nvariables zone=zone-of-prod, n=5\nleft out: two\n" in told


def test_the_environment_may_come_from_a_variable(invoke: Invoke) -> None:
    assert plan_of(invoke("plan", "daily.yaml", "-o", "json", CATCHMENT_ENV="prod"))["environment"] == "prod"


def test_the_project_may_be_named(invoke: Invoke, root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "daily.yaml"
    (root / "daily.yaml").rename(elsewhere)
    assert plan_of(invoke("plan", str(elsewhere), "-o", "json", "--project", "."))["jobs"] == ["one", "two"]
    assert invoke("validate", str(elsewhere), "--project", str(root)).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    {
        "plan daily.yaml --select three": "job-not-found",
        "plan daily.yaml --exclude one --exclude two": "nothing-selected",
        "plan daily.yaml --var m=1": "unknown-variable",
        "validate daily.yaml --var n=many": "bad-variable-value",
        "run daily.yaml --select tag:x": "unknown-tag",
        "run daily.yaml --env pord": "unknown-environment",
        "runs --env pord": "unknown-environment",
        "run daily.yaml --tick 2026-01-01T00:00:00Z --var n=1": "option-without-effect",
        "run daily.yaml --from-run 20260504-030000-aaaaaa": "run-not-found",
    }.items(),
)
def test_what_is_wrong_starts_nothing(invoke: Invoke, root: Path, arguments: str, code: str) -> None:
    answer = invoke(*arguments.split())
    assert (answer.exit_code, f"[{code}]" in answer.stderr + answer.stdout) == (2, True), answer.output
    assert not (root / ".catchment").exists()


@pytest.mark.parametrize("given", [("--var", "n"), ("--var", "=1"), ("--var", "n=1", "--var", "n=2")])
def test_a_variable_is_given_once_with_its_name(invoke: Invoke, given: tuple[str, ...]) -> None:
    assert invoke("plan", "daily.yaml", *given).exit_code == 2


def test_the_environment_of_a_service_does_not_depend_on_the_shell(
    invoke: Invoke, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    def start(project: object, kind: str, subject: str, command: list[str], **_: object) -> str:
        started.append(command)
        return "daily"

    monkeypatch.setattr("catchment.run.services.starting.start", start)
    (root / "dropzone").rename(root / "zone-of-prod")
    invoke("run", "daily.yaml", "--detach", CATCHMENT_ENV="prod")
    invoke("run", "daily.yaml", "--detach", "--env", "prod")
    assert [command.count("--env") for command in started] == [1, 1]


def _commands(command: click.Command, name: str) -> list[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        return [(name, command)]
    inner = [
        (each, command.get_command(click.Context(command), each))
        for each in command.list_commands(click.Context(command))
    ]
    return [found for each, one in inner if one for found in _commands(one, f"{name} {each}")]


def test_every_verb_that_works_on_a_project_can_be_told_which_one() -> None:
    verbs = [(verb, program.get_command(click.Context(program), verb)) for verb in VERBS]
    every = [found for verb, command in verbs if command for found in _commands(command, verb)]
    without = [name for name, command in every if {"where", "environment"} - {param.name for param in command.params}]
    assert without == ["init", "schema", "completion", "demo"]
