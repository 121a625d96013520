"""Watching a run: its results and its logs as they come, until it has ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from catchment.run import run_history, run_logs
from tests.concurrency.waiting import until
from tests.unit.run.conftest import Lab, job


@contextmanager
def _running(lab: Lab) -> Iterator[str]:
    """The id of a run that is under way, and ends when the block ends."""
    go_on = lab.root / "go-on"
    thread = threading.Thread(target=lambda: lab.run(job("a"), job("b", f"until {go_on}", "a")))
    thread.start()
    until(lambda: len(lab.trace("begin")) == 2)
    try:
        yield run_history.runs(lab.project, 1)[0].run_id
    finally:
        go_on.touch()
        thread.join()


def test_logs_are_followed_through_new_files_until_the_run_has_ended(lab: Lab) -> None:
    with _running(lab) as run_id:
        logs = lab.project.home / "runs" / run_id
        (logs / "a.1.log").write_text("first\n")
        pieces = run_logs.follow(lab.project, run_id)
        assert [(file.name, text) for file, text in [next(pieces)]] == [("a.1.log", "first\n")]
        (logs / "a.1.log").write_text("first\nhalf")
        (logs / "b.1.log").write_text("second\n")
        assert [(file.name, text) for file, text in [next(pieces)]] == [("b.1.log", "second\n")]
        with (logs / "a.1.log").open("a") as file:
            file.write(" a line\n")
        assert [(file.name, text) for file, text in [next(pieces)]] == [("a.1.log", "half a line\n")]
        with (logs / "b.1.log").open("a") as file:
            file.write("killed in the mid")
    last = [(file.name, text) for file, text in pieces if not file.name.startswith("engine")]
    assert last == [("b.1.log", "killed in the mid")]


def test_only_the_logs_of_one_job(lab: Lab) -> None:
    run_id = lab.run(job("a"), job("b")).run_id
    for name in ("a", "b"):
        (lab.project.home / "runs" / run_id / f"{name}.1.log").write_text(f"{name}\n")
    assert [text for _, text in run_logs.follow(lab.project, run_id, "b")] == ["b\n"]


def test_a_run_is_watched_until_it_has_ended(lab: Lab) -> None:
    with _running(lab) as run_id:
        looks = run_history.watch_run(lab.project, run_id)
        assert [job.status for job in next(looks).jobs] == ["succeeded", "running"]
    *_, last = looks
    assert last.status == "succeeded"
