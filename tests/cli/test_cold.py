"""Verbs that need no Spark never pay for it, and answer at once."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from catchment.cli.program import VERBS
from tests.cli import program

HEAVY = ("pyspark", "py4j", "sqlalchemy", "sqlglot", "rich")
SEEDS = Path(__file__).parent.parent / "workflows"


def imported(cwd: Path, *arguments: str) -> set[str]:
    command = [sys.executable, "-X", "importtime", "-m", "catchment", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    modules = imported(tmp_path, "--help")
    assert "click" in modules
    assert not modules & {*HEAVY, "pydantic", "yaml"}


@pytest.mark.parametrize(
    "arguments", [(verb, "--help") for verb in ("run", "query", "doctor", "table", "writers", "recover")]
)
def test_help_of_a_verb_imports_nothing_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert not imported(tmp_path, *arguments) & {*HEAVY, "pydantic", "yaml"}


@pytest.mark.parametrize("verb", ["validate", "plan"])
def test_validate_and_plan_need_no_spark(tmp_path: Path, verb: str) -> None:
    modules = imported(tmp_path, verb, str(SEEDS / "seed-000.yaml"), "--output", "json")
    assert "pydantic" in modules
    assert not modules & {"pyspark", "py4j", "sqlalchemy"}


def test_the_public_api_is_light(tmp_path: Path) -> None:
    code = "import sys, catchment; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert not {"pyspark", "pydantic", "sqlalchemy", "yaml", "click"} & set(done.stdout.split())


def test_help_lists_every_verb(tmp_path: Path) -> None:
    answer = program.call("--help", cwd=tmp_path)
    verbs = (
        "init validate schema plan diff run apply resume schedule ticks runs logs services query shell table compact "
        "maintain state up down engines writers recover completion doctor demo"
    )
    assert answer.code == 0
    assert re.findall(r"^  (\w+)", answer.out.partition("Verbs:\n")[2], re.MULTILINE) == verbs.split()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(tmp_path: Path, verb: str) -> None:
    answer = program.call(verb, "--help", cwd=tmp_path)
    assert answer.code == 0
    assert f"Usage: catchment {verb}" in answer.out
