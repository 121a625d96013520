"""Taking a run up again: what succeeded stays, the rest runs under the same id, whatever ended it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment import process_identity, run
from catchment.errors import InvalidFiles, LeaseHeld, LeaseLost, RequestError
from catchment.plan import prepare
from catchment.project.model import Project
from catchment.run import run_history
from catchment.run_model import Backfill, RunRequest
from catchment.store import Store, open_store
from catchment.store.holding import HeldLease
from catchment.store.runs import lease_name
from tests.concurrency.waiting import until
from tests.unit.run.conftest import QUICK, Lab, Recorder, job, launch, statuses
from tests.unit.run.workflow_file import write_workflow

Jobs = dict[str, tuple[str, list[str]]]


def _write(lab: Lab, jobs: Jobs, table: str = "t") -> tuple[Project, Path]:
    file = write_workflow(lab.root, lab.trace_file, jobs, table)
    return replace(prepare(file).require()[0], secrets=lab.project.secrets), file


def _start(lab: Lab, jobs: Jobs, **options: Any) -> run.Run:
    project, file = _write(lab, jobs)
    return run.start(prepare(file).require()[1], project, launch=launch, timing=QUICK, **options)


def _resume(lab: Lab, run_id: str, **options: Any) -> run.Run:
    project, _ = prepare(lab.root / "flow.yaml").require()
    return run.resume(run_id, project, **{"launch": launch, "timing": QUICK, **options})


def test_only_what_did_not_succeed_runs_again(lab: Lab, recorder: Recorder) -> None:
    first = _start(lab, {"a": ("", []), "b": ("fail job", ["a"]), "c": ("", ["b"])})
    assert statuses(first) == {"a": "succeeded", "b": "failed", "c": "skipped"}
    _write(lab, {"a": ("", []), "b": ("", ["a"]), "c": ("", ["b"])})  # the SQL is mended
    second = _resume(lab, first.run_id, sinks=[recorder])
    assert (second.run_id, second.status) == (first.run_id, "succeeded")
    assert [(each.name, each.attempts) for each in second.jobs] == [("a", 1), ("b", 2), ("c", 1)]
    assert second.jobs[1].error is None
    assert [(line["job"], line["number"]) for line in lab.trace("begin")] == [("a", 1), ("b", 1), ("b", 2), ("c", 1)]
    assert len({line["reference_time"] for line in lab.trace("begin")}) == 1
    assert [output.write_id for each in second.jobs for output in each.outputs] == [
        f"{first.run_id}/{name}/s" for name in "abc"
    ]
    assert recorder.of("run-started")[0].data["resumed"] is True
    assert [event.data["kept"] for event in recorder.of("job-succeeded")] == [True, False, False]
    shown = run_history.show(lab.project, first.run_id)
    assert (shown.status, statuses(shown)) == ("succeeded", statuses(second))
    for each in (second, shown):
        assert [job.kept for job in each.jobs] == [True, False, False]


def test_a_run_that_succeeded_is_left_as_it_is(lab: Lab) -> None:
    first = _start(lab, {"a": ("", [])})
    second = _resume(lab, first.run_id)
    assert (second.status, statuses(second)) == ("succeeded", {"a": "succeeded"})
    assert len(lab.trace("begin")) == 1


def test_a_resumed_run_may_fail_again(lab: Lab) -> None:
    first = _start(lab, {"a": ("fail job", [])})
    assert _resume(lab, first.run_id).jobs[0].attempts == 2
    assert _resume(lab, first.run_id).jobs[0].attempts == 3


def test_a_resumed_run_takes_as_many_windows_as_it_was_asked_for(lab: Lab) -> None:
    asked = _start(lab, {"a": ("fail job", [])}, request=RunRequest(windows=7))
    _resume(lab, asked.run_id)
    _resume(lab, asked.run_id)
    assert [line["windows"] for line in lab.trace("begin")] == [7, 7, 7]


def test_a_resumed_run_goes_through_the_range_that_it_was_asked_for(lab: Lab) -> None:
    request = RunRequest(backfill=Backfill("2024-01-01", "2024-07-01"))
    asked = _start(lab, {"a": ("fail job", []), "b": ("", ["a"])}, request=request)
    _write(lab, {"a": ("", []), "b": ("", ["a"])})
    _resume(lab, asked.run_id)
    told = [(line["job"], line["backfill"]) for line in lab.trace("begin")]
    assert told == [(name, {"first": "2024-01-01", "last": "2024-07-01"}) for name in ("a", "a", "b")]


def test_changed_outputs_of_a_kept_job_are_told(lab: Lab, recorder: Recorder) -> None:
    first = _start(lab, {"a": ("", []), "b": ("fail job", [])})
    _write(lab, {"a": ("", []), "b": ("", [])}, table="other")
    _resume(lab, first.run_id, sinks=[recorder])
    (note,) = recorder.of("job-note")
    assert (note.job, note.data["event"]) == ("a", "warning")


def test_jobs_that_came_and_went_with_the_file(lab: Lab) -> None:
    first = _start(lab, {"a": ("fail job", []), "b": ("", [])})
    _write(lab, {"b": ("", []), "c": ("", ["b"])})
    assert statuses(_resume(lab, first.run_id)) == {"b": "succeeded", "c": "succeeded"}
    assert statuses(run_history.show(lab.project, first.run_id)) == {"b": "succeeded", "c": "succeeded"}


def test_an_unknown_run_cannot_be_resumed(lab: Lab) -> None:
    _write(lab, {"a": ("", [])})
    with pytest.raises(RequestError) as caught:
        _resume(lab, "20240101-000000-abcdef")
    assert caught.value.code == "run-not-found"


def test_a_workflow_that_got_worse_is_refused_and_the_run_is_as_before(lab: Lab) -> None:
    first = _start(lab, {"a": ("fail job", [])})
    project, file = _write(lab, {"a": ("", [])})
    file.write_text("name: [")
    with pytest.raises(InvalidFiles):
        run.resume(first.run_id, project, launch=launch, timing=QUICK)
    assert run_history.show(project, first.run_id).status == "failed"


def test_a_run_that_is_alive_is_not_resumed(lab: Lab) -> None:
    first = _start(lab, {"a": ("fail job", [])})
    with open_store(lab.project.metastore) as store:
        store.leases.acquire(lease_name(first.run_id), "another process", 60, process_identity.identity())
    with pytest.raises(LeaseHeld) as caught:
        _resume(lab, first.run_id)
    assert caught.value.code == "lease-held"
    assert len(lab.trace("start")) == 1


def test_a_run_that_died_on_another_machine_is_waited_for(lab: Lab) -> None:
    first = _start(lab, {"a": ("fail job", [])})
    _write(lab, {"a": ("", [])})
    with open_store(lab.project.metastore) as store:
        store.leases.acquire(
            lease_name(first.run_id), "elsewhere:1", 1, replace(process_identity.identity(), machine="b")
        )
    told: list[str] = []
    assert _resume(lab, first.run_id, tell=told.append).status == "succeeded"
    assert len(told) == 1
    assert "held by elsewhere:1; waiting up to 1 s" in told[0]


def test_a_run_that_is_alive_on_another_machine_is_not_resumed(lab: Lab) -> None:
    first = _start(lab, {"a": ("fail job", [])})
    there = replace(process_identity.identity(), machine="b")
    with (
        open_store(lab.project.metastore) as store,
        HeldLease.acquire(store.leases, lease_name(first.run_id), "elsewhere:1", 60, every=0.1, process=there),
        pytest.raises(LeaseHeld),
    ):
        _resume(lab, first.run_id)


def test_a_run_that_is_taken_over_stops_and_writes_no_more(lab: Lab) -> None:
    class TakesOver(Recorder):
        """Another process that took this one for dead."""

        def emit(self, event: Any) -> None:
            if event.kind == "job-started":
                with open_store(lab.project.metastore) as store, store.database.writing() as connection:
                    connection.exec_driver_sql("UPDATE leases SET owner = 'you', fence = fence + 1")

    began = time.monotonic()
    with pytest.raises(LeaseLost):
        lab.run(job("a", "hang"), sinks=[TakesOver()], timing=replace(QUICK, lease=0.4))
    assert time.monotonic() - began < 60
    (summary,) = run_history.runs(lab.project, 1)
    assert summary.succeeded == 0
    for line in lab.trace("start"):
        with pytest.raises(ProcessLookupError):
            os.kill(line["pid"], 0)


def test_a_run_longer_than_its_lease_stays_alive(lab: Lab) -> None:
    lease, go_on = 3.0, lab.root / "go-on"
    work = job("a", f"until {go_on}")
    thread = threading.Thread(target=lambda: lab.run(work, timing=replace(QUICK, lease=lease)))
    thread.start()
    _begun(lab, 1)
    with open_store(lab.project.metastore) as store:
        first = _expires(store)
        until(lambda: _expires(store) > first + lease)
    (summary,) = run_history.runs(lab.project, 1)
    go_on.touch()
    thread.join()
    assert summary.status == "running"


def _expires(store: Store) -> float:
    with store.database.reading() as connection:
        return float(connection.exec_driver_sql("SELECT max(expires) FROM leases").scalar_one())


def _begun(lab: Lab, count: int) -> None:
    until(lambda: len(lab.trace("begin")) >= count)


def test_a_run_that_was_killed_is_dead_to_readers_and_can_be_resumed(lab: Lab) -> None:
    project, file = _write(lab, {"a": ("", []), "b": ("hang", ["a"])})
    process = subprocess.Popen([sys.executable, "-m", "tests.unit.run.workflow_file", str(file), "600"])
    _begun(lab, 2)
    (summary,) = run_history.runs(project, 1)
    assert summary.status == "running"
    process.send_signal(signal.SIGKILL)
    process.wait()
    dead = run_history.show(project, summary.run_id)
    assert (dead.status, statuses(dead)) == ("dead", {"a": "succeeded", "b": "running"})
    assert run_history.runs(project, 1)[0].status == "dead"
    until(lambda: len(lab.trace("stop")) == 1)  # the worker does not outlive the run
    _write(lab, {"a": ("", []), "b": ("", ["a"])})
    told: list[str] = []
    resumed = _resume(lab, summary.run_id, tell=told.append)
    assert told == [f"the process of run {summary.run_id} has died; this one takes it over"]
    assert [(each.name, each.status, each.attempts) for each in resumed.jobs] == [
        ("a", "succeeded", 1),
        ("b", "succeeded", 2),
    ]
    with open_store(project.metastore) as store:
        tried = [(attempt.job, attempt.number, attempt.status) for attempt in store.runs.attempts(summary.run_id)]
    assert tried == [("a", 1, "succeeded"), ("b", 1, "lost"), ("b", 2, "succeeded")]
