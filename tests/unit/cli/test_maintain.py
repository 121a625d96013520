"""The exit codes of `maintain` and `compact` when something could not be done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from catchment.cli.program import program
from tests.cli import projects

TABLE = {"address": "dataos://lake:raw/t", "rewritten_files": 0, "added_files": 0, "rewritten_bytes": 0, "expired": 0}
ERROR = {"address": "dataos://lake:none", "code": "no-warehouse", "message": "gone", "hint": "look"}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(projects.make(tmp_path))


def maintained(failed: int, errors: list[Any]) -> Mapping[str, Any]:
    return {"tables": [{**TABLE, "failed": failed}], "rewritten_bytes": 0, "errors": errors}


@pytest.mark.parametrize(
    ("facts", "once", "forever"),
    [(maintained(0, []), 0, 0), (maintained(1, []), 1, 0), (maintained(0, [ERROR]), 1, 0)],
)
def test_maintain_once_fails_if_something_failed(
    monkeypatch: pytest.MonkeyPatch, facts: Mapping[str, Any], once: int, forever: int
) -> None:
    monkeypatch.setattr("catchment.run.compaction.whole_lake.maintain", lambda *_, **__: facts)
    assert CliRunner().invoke(program, ["maintain", "--once"]).exit_code == once
    told = CliRunner().invoke(program, ["maintain", "-o", "json"])
    assert (told.exit_code, json.loads(told.stdout)) == (forever, facts)


def test_an_error_is_named_beside_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catchment.run.compaction.whole_lake.maintain", lambda *_, **__: maintained(0, [ERROR]))
    assert CliRunner().invoke(program, ["maintain", "--once"]).stdout == "dataos://lake:none: error[no-warehouse]\n"


@pytest.mark.parametrize(("failed", "batch"), [({"failed": 0}, 0), ({"failed": 2}, 1), ({"failed_files": 3}, 1)])
def test_a_batch_of_compaction_fails_if_something_is_left_undone(
    monkeypatch: pytest.MonkeyPatch, failed: Mapping[str, int], batch: int
) -> None:
    """A rewrite with --sort, --where or --property counts files, other compactions count partitions."""
    facts = {"partitions": [], "dry_run": False, **failed}
    monkeypatch.setattr("catchment.run.compaction.compaction_job.compact", lambda *_, **__: facts)
    compact = ["compact", "dataos://lakehouse:raw/t"]
    assert CliRunner().invoke(program, compact).exit_code == batch
    assert CliRunner().invoke(program, [*compact, "--mode", "continuous"]).exit_code == 0


def test_cores_are_refused_before_anything_starts_where_they_have_no_effect(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("catchment.cli.detaching.detached", lambda *_, **__: pytest.fail("a service would start"))
    (tmp_path / "catchment.yaml").write_text(projects.SETTINGS.replace("local[2]", "yarn"))
    told = CliRunner().invoke(program, ["maintain", "--cores", "2"])
    assert (told.exit_code, "error[option-without-effect]" in told.stderr) == (2, True)
