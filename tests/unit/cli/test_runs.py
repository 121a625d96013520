"""`runs` and `logs`, as far as they go without an engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from catchment.cli import printing
from catchment.cli.program import program
from catchment.run_model import RunRequest
from catchment.store import open_store
from catchment.store.runs import lease_name

RUN = "20260504-030000-aaaaaa"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one finished run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".catchment" / "runs" / RUN).mkdir(parents=True)
    with open_store(f"sqlite:///{tmp_path}/.catchment/metastore.db") as store:
        progress = store.progress(store.leases.acquire(lease_name(RUN), "me", 60), RUN)
        progress.begin(RunRequest(), workflow="w", file="w.yaml", job_names=["a"], at=1.0)
        progress.attempt_begins("a", 1, "default", 2.0)
        progress.job_ends("a", 1, "succeeded", at=9.0, engine_seconds=5.0)
        progress.finish("succeeded", 10.0)
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(program, arguments)


def test_a_run_that_is_over_is_watched_once(root: Path) -> None:
    answer = invoke("runs", RUN, "--watch", "-o", "json")
    assert len(answer.stdout.splitlines()) == 1
    (job,) = json.loads(answer.stdout)["jobs"]
    assert (job["seconds"], job["engine_seconds"], job["kept"]) == (2.0, 5.0, False)


def test_logs_of_a_run_that_is_over_are_followed_to_their_end(root: Path) -> None:
    (root / ".catchment" / "runs" / RUN / "a.1.log").write_text("hello\n")
    assert invoke("logs", "-f").stdout.splitlines()[1:] == ["hello"]
    assert invoke("logs", "-f", "-o", "json").exit_code == 2


def test_watching_ends_when_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr("catchment.cli.streams.nobody_reads", lambda: len(seen) == 2)
    printing.refresh(iter(range(10)), seen.append)
    assert seen == [0, 1]
