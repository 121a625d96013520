"""Words are completed: by real Bash with the script that is printed, and by what the other shells ask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from catchment.cli.completion import VARIABLE
from catchment.cli.program import program
from catchment.run_model import OutputResult, RunRequest
from catchment.store import open_store
from catchment.store.runs import lease_name
from catchment.store.states import State
from tests.cli import projects

RUN = "20260504-030000-aaaaaa"
ORDERS = "dataos://lakehouse:shop/orders"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with an environment, a workflow, and a run that has written a table."""
    more = "vars: {region: north}\nenvironments: {prod: {}, test: {}}\nnotify: {oncall: {command: [./call]}}\n"
    projects.make(tmp_path, projects.SETTINGS + more)
    text = projects.workflow("flow", projects.job("one", "SELECT 1"), projects.job("other", "SELECT 2"))
    (tmp_path / "flow.yaml").write_text(
        "vars: {day: x}\n" + text.replace("name: one", "name: one\n      tags: [daily]")
    )
    with open_store(f"sqlite:///{tmp_path}/.catchment/metastore.db") as store:
        progress = store.progress(store.leases.acquire(lease_name(RUN), "me", 60), RUN)
        progress.begin(RunRequest(), workflow="flow", file="flow.yaml", job_names=["one"], at=1.0)
        state = State("flow", "one", "orders", {"start": "7"})
        store.states.change(store.leases.acquire("job/flow/one", "me", 60), "set", state, "me")
        progress.job_ends("one", 1, "succeeded", at=2.0, written=[OutputResult("o", ORDERS, 1, 1, None, "w")])
    return tmp_path


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script for Bash, and a `catchment` that it finds."""
    place = tmp_path_factory.mktemp("completion")
    (place / "catchment").write_text(f'#!/bin/sh\nexec {sys.executable} -m catchment "$@"\n')
    (place / "catchment").chmod(0o755)
    (place / "script").write_text(CliRunner().invoke(program, ["completion", "bash"]).stdout)
    return place


def bash(line: str, root: Path, script: Path) -> list[str]:
    """What Bash offers when Tab is pressed at the end of a line."""
    words = line.replace(":", " : ").replace("=", " = ").split()  # as Bash splits them
    keys = "( " + " ".join(f"'{word}'" for word in words) + (" ''" if line.endswith(" ") else "") + " )"
    ask = f"compopt() {{ :; }}; source {script}/script; COMP_WORDS={keys}; COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ));"
    ask += f"COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; _catchment_completion catchment;"
    ask += 'printf "%s\\n" "${COMPREPLY[@]}"'
    env = os.environ | {"PATH": f"{script}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "--norc", "-c", ask], cwd=root, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_with_colons_and_equals_signs(root: Path, script: Path) -> None:
    assert bash("catchment table show dataos://lakehouse:", root, script) == ["shop/orders"]
    assert bash("catchment run flow.yaml --env=p", root, script) == ["prod"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("table show dat", {"dataos://dropzone:", "dataos://lakehouse:", ORDERS}),
        ("table show lake://lakehouse:s", {"lake://lakehouse:shop/orders"}),
        ("table ls l", {"lakehouse"}),
        ("resume 2026", {RUN}),
        ("run --from-run 2026", {RUN}),
        ("logs --job o", {"one"}),
        ("va", {"validate"}),
        ("plan flow.yaml --exclude tag:", {"tag:daily"}),
        ("plan flow.yaml --select +o", {"+one", "+other"}),
        ("plan flow.yaml --var ", {"day=", "region="}),
        ("query --engine d", {"default"}),
        ("up d", {"default"}),
        ("down d", {"default"}),
        ("run flow.yaml --notify o", {"oncall"}),
        ("resume --notify ", {"oncall"}),
        ("state show f", {"flow"}),
        ("state show flow o", {"one"}),
        ("state reset flow one o", {"orders"}),
        ("state set other one o", set()),
        ("runs --env t", {"test"}),
        ("services show x", set()),
        ("table column add dataos://lakehouse:shop/orders x", set()),
    ],
)
def test_what_is_offered(words: str, offered: set[str], root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    count = len(words.split()) + (1 if words.endswith(" ") else 0)
    env = {VARIABLE: "zsh_complete", "COMP_WORDS": f"catchment {words}", "COMP_CWORD": str(count)}
    done = CliRunner(env=env).invoke(program, prog_name="catchment", complete_var=VARIABLE)
    lines = done.stdout.strip().splitlines()
    assert {value for kind, value in zip(lines[::3], lines[1::3], strict=True) if kind == "plain"} == offered


def test_nothing_is_offered_and_nothing_said_where_there_is_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "catchment.yaml").write_text("depots: [")
    monkeypatch.chdir(tmp_path)
    env = {VARIABLE: "fish_complete", "COMP_WORDS": "catchment table show d", "COMP_CWORD": "d"}
    done = CliRunner(env=env).invoke(program, prog_name="catchment", complete_var=VARIABLE)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_script(shell: str) -> None:
    assert f"{VARIABLE}={shell}_complete" in CliRunner().invoke(program, ["completion", shell]).stdout
