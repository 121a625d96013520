"""Another attempt, or not: decided by the kind of failure."""

from __future__ import annotations

import pytest

from catchment.engine.protocol import Failed
from catchment.errors import EngineLost, EngineOutOfMemory
from catchment.run.retries import FailureKind, blamed, kind_of, pause_before_next
from catchment.spec.model import Retry, RetryStrategy
from catchment.store import open_store
from tests.unit.run.conftest import Lab, Recorder, job, statuses

TABLE: list[tuple[RetryStrategy, FailureKind, bool]] = [
    ("Always", "job", True),
    ("Always", "transient", True),
    ("Always", "engine", True),
    ("Always", "setup", True),
    ("OnFailure", "job", True),
    ("OnFailure", "transient", True),
    ("OnFailure", "engine", True),
    ("OnFailure", "setup", False),
    ("OnError", "job", False),
    ("OnError", "transient", True),
    ("OnError", "engine", True),
    ("OnError", "setup", True),
    ("OnTransientError", "job", False),
    ("OnTransientError", "transient", True),
    ("OnTransientError", "engine", True),
    ("OnTransientError", "setup", False),
]


@pytest.mark.parametrize(("strategy", "kind", "again"), TABLE)
def test_the_strategy_chooses_by_kind(strategy: RetryStrategy, kind: FailureKind, again: bool) -> None:
    assert (pause_before_next(Retry(1, strategy), kind, 1, 0.0) is not None) is again


@pytest.mark.parametrize("kind", ["job", "transient", "engine", "setup"])
def test_a_count_of_zero_means_no_retry(kind: FailureKind) -> None:
    assert pause_before_next(Retry(0, "Always"), kind, 1, 0.0) is None


def test_pauses_double_until_the_count_is_used_up() -> None:
    retry = Retry(3, "Always", pause=2.0)
    assert [pause_before_next(retry, "job", n, 0.0) for n in (1, 2, 3, 4)] == [2.0, 4.0, 8.0, None]


def test_no_retry_begins_after_the_longest_duration() -> None:
    retry = Retry(9, "Always", pause=2.0, max_duration=10.0)
    assert pause_before_next(retry, "job", 1, 8.0) == 2.0
    assert pause_before_next(retry, "job", 1, 8.1) is None


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failed("a", "x", "", retryable=False), "job"),
        (Failed("a", "x", "", retryable=True), "transient"),
        (Failed("a", "x", "", retryable=False, setup=True), "setup"),
        (EngineLost("gone"), "engine"),
    ],
)
def test_kinds_of_failures(failure: Failed | EngineLost, kind: FailureKind) -> None:
    assert kind_of(failure) == kind


@pytest.mark.parametrize(
    ("lost", "alone", "kind"),
    [
        (EngineOutOfMemory("full"), True, "job"),
        (EngineOutOfMemory("full"), False, "engine"),
        (EngineLost("gone"), True, "engine"),
    ],
)
def test_who_is_to_blame_for_a_lost_engine(lost: EngineLost, alone: bool, kind: FailureKind) -> None:
    failure = blamed(lost, "a.1", alone=alone)
    assert (kind_of(failure), failure.code, failure.message) == (kind, lost.code, lost.message)


def test_a_job_that_fails_twice_and_then_succeeds(lab: Lab, recorder: Recorder) -> None:
    result = lab.run(job("a", "fail job 2", retry=Retry(2)), job("b", "", "a"), sinks=[recorder])
    assert statuses(result) == {"a": "succeeded", "b": "succeeded"}
    assert result.jobs[0].attempts == 3
    assert result.jobs[0].error is None
    assert recorder.kinds("a") == ["job-started", "job-retrying"] * 2 + ["job-started", "job-succeeded"]
    with open_store(lab.project.metastore) as store:
        told = [
            (attempt.number, attempt.status) for attempt in store.runs.attempts(result.run_id) if attempt.job == "a"
        ]
    assert told == [(1, "failed"), (2, "failed"), (3, "succeeded")]


def test_a_retry_keeps_the_reference_time(lab: Lab) -> None:
    lab.run(job("a", "fail job 1", retry=Retry(1, pause=0.3)))
    first, second = lab.trace("begin")
    assert (first["number"], second["number"]) == (1, 2)
    assert first["reference_time"] == second["reference_time"]
    assert second["at"] - first["at"] >= 0.3


def test_a_pause_does_not_hold_up_other_jobs(lab: Lab) -> None:
    result = lab.run(job("a", "fail job 1", retry=Retry(1, pause=0.5)), job("b"), jobs=1)
    assert result.status == "succeeded"
    assert [line["job"] for line in lab.trace("begin")] == ["a", "b", "a"]


def test_a_failure_that_will_repeat_is_not_tried_again_on_transient_error_only(lab: Lab) -> None:
    only_transient = Retry(5, "OnTransientError")
    result = lab.run(job("a", "fail job 1", retry=only_transient), job("b", "fail transient 1", retry=only_transient))
    assert [(each.status, each.attempts) for each in result.jobs] == [("failed", 1), ("succeeded", 2)]


def test_the_last_error_is_the_one_reported(lab: Lab) -> None:
    (only,) = lab.run(job("a", "fail transient 1; fail job", retry=Retry(5, "OnError"))).jobs
    assert only.attempts == 2
    assert only.error is not None
    assert only.error.code == "script-job"


def test_a_stream_that_gets_on_may_fail_again(lab: Lab, recorder: Recorder) -> None:
    (only,) = lab.run(job("a", "batch;fail transient 3", retry=Retry(1)), sinks=[recorder]).jobs
    assert (only.status, only.attempts) == ("succeeded", 4)
    (stuck,) = lab.run(job("b", "fail transient 3;batch", retry=Retry(1))).jobs
    assert (stuck.status, stuck.attempts) == ("failed", 2)
