"""`catchment engines`, which starts none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from catchment import project
from catchment.cli.doctor import check_engines
from catchment.cli.program import program
from catchment.store import Store, open_store
from tests.unit.formats import choosy

PROJECT = """\
depots:
  lake: {kind: iceberg, location: ./lake}
  drop: {kind: files, location: ./drop}
engines:
  old: {spark: "3.5", master: "local[2]"}
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    (tmp_path / "catchment.yaml").write_text(PROJECT)
    with open_store(f"sqlite:///{tmp_path}/.catchment/metastore.db") as store:
        yield store


def invoke(root: Path, *arguments: str) -> Result:
    result = CliRunner().invoke(program, ["engines", *arguments, "--project", str(root)])
    assert result.exit_code == 0, result.stderr
    return result


def listed(root: Path) -> dict[str, Any]:
    found = json.loads(invoke(root, "-o", "json").stdout)
    return {"others": found["others"], **{engine["name"]: engine for engine in found["engines"]}}


def test_each_engine_says_what_it_can_read_and_write(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    choosy.register(monkeypatch)
    found = listed(tmp_path)
    assert list(found) == ["others", "default", "old"]
    assert (found["default"]["spark"], found["old"]["spark"], found["old"]["master"]) == ("4.1.2", "3.5.8", "local[2]")
    assert found["old"]["depots"] == found["default"]["depots"] == ["lake", "drop"]
    assert {"new-toy", "iceberg", "files"} <= {*found["default"]["formats"]}
    assert "old-toy" not in found["default"]["formats"]
    assert {"old-toy", "iceberg", "files"} <= {*found["old"]["formats"]}


def test_engines_that_would_be_made_are_listed(tmp_path: Path) -> None:
    found = listed(tmp_path)
    assert {name: found[name]["made"] for name in ("default", "spark-3.5")} == {"default": False, "spark-3.5": True}
    assert "made when needed" in invoke(tmp_path).stdout
    assert not (tmp_path / ".catchment").exists()


def test_engines_that_run_are_shown(tmp_path: Path, store: Store) -> None:
    for name, engine in (("engine/host:1:a", "old"), ("engine/host:2:b", "elsewhere"), ("engine/host:3:c", "old")):
        store.engines.here(name, 90.0)
        store.engines.describe(name, engine, "3.5.8", "local[2]")
    store.engines.here("engine/host:4:d", 90.0)  # the metastore has forgotten what it is
    store.engines.ended("engine/host:3:c")
    found = listed(tmp_path)
    [running] = found["old"]["running"]
    assert (running["name"], running["spark"], running["master"]) == ("engine/host:1:a", "3.5.8", "local[2]")
    assert running["silent"] < 60
    assert [(other["name"], other["engine"]) for other in found["others"]] == [
        ("engine/host:2:b", "elsewhere"),
        ("engine/host:4:d", None),
    ]
    assert "engine/host:1:a" in invoke(tmp_path).stdout


def test_the_doctor_finds_depots_without_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choosy.register(monkeypatch)
    (tmp_path / "catchment.yaml").write_text("engines:\n  default: {master: 'spark://somewhere:7077'}\n")
    opened = replace(project.load(tmp_path), depots={"old": choosy.OLD})
    first = next(check_engines(opened, print))
    assert (first.name, first.status, "needs Spark 3.5" in first.message) == ("depot old", "problem", True)
