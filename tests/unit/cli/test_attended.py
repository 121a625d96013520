"""Whether a person waits for a command, which decides whether it leaves its engine behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import click
import pytest

from catchment.cli import projects
from catchment.engine.launcher import EngineProcess
from catchment.project.model import Project
from catchment.run.residents.choosing import Choosing, launching


@pytest.fixture
def streams() -> Iterator[dict[str, TextIO]]:
    """A standard error that is a terminal, and one that is a file."""
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "w") as terminal, Path(os.devnull).open("w") as file:
        yield {"terminal": terminal, "file": file}


def opened(root: Path) -> Project:
    return projects.open_project(root)


def prepared(root: Path) -> Project:
    (root / "w.yaml").write_text("version: v1\nname: w\ntype: workflow\nworkflow:\n  dag: []\n")
    found = projects.prepare(root / "w.yaml").project
    assert found
    return found


@pytest.mark.parametrize("get", [opened, prepared])
@pytest.mark.parametrize(
    ("stream", "ci", "attended"),
    [
        ("terminal", None, True),
        ("terminal", "", True),
        ("terminal", "true", False),
        ("terminal", "1", False),
        ("file", None, False),
        ("file", "true", False),
    ],
)
def test_only_a_terminal_that_is_not_that_of_a_build_has_somebody_waiting(
    get: Callable[[Path], Project],
    stream: str,
    ci: str | None,
    attended: bool,
    tmp_path: Path,
    streams: dict[str, TextIO],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", streams[stream])
    monkeypatch.delenv("CI", raising=False)
    if ci is not None:
        monkeypatch.setenv("CI", ci)
    with click.Context(click.Command("query")):
        project = get(tmp_path)
    assert project.attended is attended
    leaves = launching(project)
    assert isinstance(leaves, Choosing) if attended else leaves == EngineProcess.start
