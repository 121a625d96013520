"""What `catchment state` says about the windows of a job, and what it imports."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from catchment.cli.state import state
from catchment.errors import InvalidFiles
from catchment.project import load
from catchment.run_model import Backfill
from catchment.store import open_store
from catchment.store.states import Cause, InputWindow, Window, lease_name

JOB = ("by-month", "orders")


def show(root: Path, cause: Cause, after: Mapping[str, str] | None) -> str:
    with open_store(load(root).metastore) as store:
        lease = store.leases.acquire(lease_name(*JOB), "me", 600.0)
        assert lease
        part = InputWindow({"start": "2024-01-01", "end": "2024-02-01"}, after, "UTC")
        span = Backfill("2024-01-01", "2024-02-01") if cause == "backfill" else None
        window = Window(*JOB, 0, cause, "open", "r1", {"new": part}, runs=("r1",), backfill=span)
        for each in store.states.open(lease, [window]):
            store.states.finish(lease, each)
    return CliRunner().invoke(state, ["show", *JOB, "--project", str(root)]).output


@pytest.mark.parametrize(
    ("cause", "after", "then"),
    [
        ("backfill", {}, "stays"),
        ("run", {}, "stays"),  # a window without `state`
        ("run", None, "stays"),  # nothing new
        ("run", {"start": "2024-02-01"}, "start = 2024-02-01"),
    ],
)
def test_it_says_where_the_next_run_continues(
    tmp_path: Path, cause: Cause, after: Mapping[str, str] | None, then: str
) -> None:
    told = show(tmp_path, cause, after)
    assert then in told
    assert "the beginning" not in told


def test_a_job_that_was_only_backfilled_has_no_state(tmp_path: Path) -> None:
    assert "no state yet" in show(tmp_path, "backfill", {})
    told = CliRunner().invoke(state, ["ls", "--project", str(tmp_path)]).output
    assert "no incremental job has a state yet" in told


def imported(root: Path, file: str, given: bytes = b"") -> str:
    """Import a file; the code of the problem, or nothing."""
    told = CliRunner().invoke(state, ["import", file, "--yes", "--project", str(root)], input=given)
    if isinstance(told.exception, InvalidFiles):
        return told.exception.diagnostics[0].code
    return getattr(told.exception, "code", "")


def test_only_files_of_a_limited_size_are_imported(tmp_path: Path) -> None:
    """Devices and pipes would never end."""
    os.mkfifo(tmp_path / "pipe")
    large = b" " * (2 * 1024 * 1024)
    (tmp_path / "large.json").write_bytes(large + b'{"states": []}')
    (tmp_path / "none.json").write_bytes(b'{"states": []}')
    for file, code in {"/dev/zero": "not-a-file", "pipe": "not-a-file", "large.json": "file-too-large"}.items():
        assert imported(tmp_path, str(tmp_path / file)) == code
    assert imported(tmp_path, str(tmp_path / "missing.json")) == "file-not-found"
    assert imported(tmp_path, "-", large + b'{"states": []}') == "file-too-large"
    assert imported(tmp_path, "-", b"\xff") == "bad-state-file"
    assert imported(tmp_path, "-", b'{"states": []}') == imported(tmp_path, str(tmp_path / "none.json")) == ""
