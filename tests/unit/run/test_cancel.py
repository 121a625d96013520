"""Asked to stop: Spark is told, jobs and run are `cancelled`, nothing is left, and it takes seconds at most."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from catchment.plan.model import JobPlan
from catchment.run import Run, run_history
from catchment.spec.model import Retry
from tests.unit.run.conftest import QUICK, Lab, Recorder, job, statuses


def _cancelled(lab: Lab, *jobs: JobPlan, when: str = "begin", **options: Any) -> tuple[Run, float]:
    """Run, ask to stop once every root job has begun, and say how long it took from there."""
    stop = threading.Event()
    asked: list[float] = []

    def ask() -> None:
        while not lab.trace(when):
            time.sleep(0.02)
        time.sleep(0.1)
        asked.append(time.monotonic())
        stop.set()

    thread = threading.Thread(target=ask)
    thread.start()
    result = lab.run(*jobs, stop=stop, **options)
    thread.join()
    return result, time.monotonic() - asked[0]


def _nothing_left(lab: Lab) -> None:
    for line in lab.trace("start"):
        with pytest.raises(ProcessLookupError):
            os.kill(line["pid"], 0)


def test_running_and_waiting_jobs_are_cancelled(lab: Lab, recorder: Recorder) -> None:
    result, seconds = _cancelled(lab, job("a", "hang"), job("b", "", "a"), sinks=[recorder])
    assert result.status == "cancelled"
    assert statuses(result) == {"a": "cancelled", "b": "cancelled"}
    assert seconds < 5
    assert recorder.kinds("a") == ["job-started", "job-cancelled"]
    assert [line["job"] for line in lab.trace("end")] == ["a"], "the engine was not asked to cancel"
    assert run_history.show(lab.project, result.run_id).status == "cancelled"
    _nothing_left(lab)


def test_an_engine_that_does_not_listen_is_killed(lab: Lab) -> None:
    result, seconds = _cancelled(lab, job("a", "stubborn"))
    assert statuses(result) == {"a": "cancelled"}
    assert seconds < 5
    _nothing_left(lab)


def test_what_was_done_before_stays_done(lab: Lab) -> None:
    result, _ = _cancelled(lab, job("a"), job("b", "hang", "a"), when="end")
    assert statuses(result) == {"a": "succeeded", "b": "cancelled"}


def test_a_job_that_succeeds_while_it_is_being_cancelled_has_succeeded(lab: Lab) -> None:
    result, _ = _cancelled(lab, job("a", "sleep 0.6"), job("b", "", "a"))
    assert statuses(result) == {"a": "succeeded", "b": "cancelled"}
    assert result.status == "cancelled"
    assert {line["job"] for line in lab.trace("begin")} == {"a"}


def test_a_cancelled_attempt_is_not_tried_again(lab: Lab) -> None:
    result, _ = _cancelled(lab, job("a", "hang", retry=Retry(5, "Always")))
    assert result.jobs[0].attempts == 1


def test_a_job_waiting_for_its_next_attempt_is_cancelled(lab: Lab) -> None:
    result, seconds = _cancelled(lab, job("a", "fail job", retry=Retry(5, pause=60.0)), when="end")
    assert statuses(result) == {"a": "cancelled"}
    assert seconds < 5


def test_no_attempt_begins_after_the_request_to_stop(lab: Lab) -> None:
    waits = job("waits", "fail job", retry=Retry(5, pause=0.5))
    result, _ = _cancelled(lab, waits, job("busy", "stubborn"), when="end")
    assert statuses(result) == {"waits": "cancelled", "busy": "cancelled"}
    assert [line["job"] for line in lab.trace("begin")].count("waits") == 1


def test_cancelling_while_the_engine_is_starting(lab: Lab) -> None:
    patient = replace(QUICK, stop=60.0)
    result, seconds = _cancelled(lab, job("a"), when="start", envs={"STARTS_IN": "600"}, timing=patient)
    assert statuses(result) == {"a": "cancelled"}
    assert seconds < 5
    _nothing_left(lab)


def test_an_interrupt_in_the_loop_leaves_nothing_and_is_recorded(lab: Lab) -> None:
    with pytest.raises(KeyboardInterrupt):
        lab.run(job("a", "hang"), stop=_Interrupting())
    (summary,) = run_history.runs(lab.project, 1)
    assert summary.status == "cancelled"
    _nothing_left(lab)


class _Interrupting(threading.Event):
    """A second Ctrl-C, or the one of a notebook: raises when the main loop looks up for the third time."""

    looks = 0

    def is_set(self) -> bool:
        self.looks += 1
        if self.looks == 3:
            raise KeyboardInterrupt
        return False
