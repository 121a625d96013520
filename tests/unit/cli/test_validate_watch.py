"""`validate --watch`: files are checked again when one of them is saved."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from catchment.cli import file_changes
from catchment.cli.program import program
from tests.cli import projects


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    projects.make(tmp_path)
    text = projects.workflow("flow", projects.job("one", "SELECT 1 AS one"))
    (tmp_path / "one.sql").write_text("SELECT 1 AS one")
    (tmp_path / "flow.yaml").write_text(text.replace("sql: |\n", "sqlFile: one.sql\n").replace("SELECT 1 AS one", ""))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "flow.yaml"


def test_every_file_that_is_read_is_watched(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: Iterator[tuple[str, str]] = iter(
        [("one.sql", "SELEC 1"), ("one.sql", "SELECT 2 AS two"), ("catchment.yaml", "depots: 5"), ("", "")]
    )
    watched: list[set[str]] = []

    def wait(before: file_changes.Stamps) -> None:
        watched.append({path.name for path in before})
        name, text = next(saved)
        if not name:
            raise KeyboardInterrupt
        (file.parent / name).write_text(text)

    monkeypatch.setattr(file_changes, "wait_for_change", wait)
    done = CliRunner().invoke(program, ["validate", "flow.yaml", "--watch", "-o", "json"])
    assert done.exit_code == 130
    checks = [json.loads(line)["diagnostics"] for line in done.stdout.splitlines()[:4]]
    assert [[each["code"] for each in found if each["severity"] == "error"] for found in checks] == [
        [], ["sql-syntax"], [], ["wrong-type"],
    ]  # fmt: skip
    assert watched[0] == {"flow.yaml", "one.sql", "catchment.yaml"}


def test_a_project_that_becomes_invalid_is_watched_on(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = (file.parent / "catchment.yaml").read_text()
    saved = iter(["depots: 5", good])

    def wait(before: file_changes.Stamps) -> None:
        assert file.parent / "catchment.yaml" in before
        text = next(saved, None)
        if text is None:
            raise KeyboardInterrupt
        (file.parent / "catchment.yaml").write_text(text)

    monkeypatch.setattr(file_changes, "wait_for_change", wait)
    done = CliRunner().invoke(program, ["validate", "flow.yaml", "--watch", "-o", "json", "--project", "."])
    checks = [json.loads(line)["diagnostics"] for line in done.stdout.splitlines()[:3]]
    assert [[each["code"] for each in found] for found in checks] == [[], ["wrong-type"], []]


def test_a_file_that_is_saved_made_or_removed_has_changed(tmp_path: Path) -> None:
    def saves(file: Path, text: str | None) -> Sequence[Path]:
        before = file_changes.stamps([file])
        thread = threading.Thread(target=file_changes.wait_for_change, args=(before,))
        thread.start()
        file.unlink() if text is None else file.write_text(text)
        thread.join()  # otherwise the test times out
        return list(before)

    for text in ("new", "longer text", None):
        assert saves(tmp_path / "a", text) == [tmp_path / "a"]
