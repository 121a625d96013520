"""What a run writes is what readers see; a run without its lease is dead to them and cannot write."""

from __future__ import annotations

import pytest

from catchment.errors import LeaseLost
from catchment.run_model import Backfill, InputResult, OutputResult, RunRequest
from catchment.store import Progress, Store
from catchment.store.records import EventRecord
from catchment.store.runs import lease_name

ERROR = {"code": "sql-syntax", "message": "no"}
OUTPUT = OutputResult("out", "dataos://lake:raw/t", 3, 1, str(2**62), "r1/a/out")
INPUTS = (InputResult("z", "dataos://drop:none/z.csv", 2), InputResult("a", "dataos://lake:raw/a", None))
REQUEST = RunRequest("2024", windows=5, backfill=Backfill("1", "9"))


def _begin(store: Store, run_id: str = "r1", *, seconds: float = 600.0, started: float = 100.0) -> Progress:
    lease = store.leases.acquire(lease_name(run_id), "me", seconds)
    progress = store.progress(lease, run_id)
    progress.begin(REQUEST, workflow="w", file="w.yaml", job_names=["b", "a"], at=started)
    return progress


def test_a_run_that_begins_has_its_jobs_queued_in_order(store: Store) -> None:
    _begin(store)
    run = store.runs.find("r1")
    assert run is not None
    assert (run.status, run.jobs, run.succeeded, run.started) == ("running", 2, 0, 100.0)
    assert run.request == REQUEST
    assert [(job.name, job.status) for job in store.runs.jobs("r1")] == [("b", "queued"), ("a", "queued")]


def test_every_step_may_be_taken_twice(store: Store) -> None:
    """Whoever has lost the answer of the metastore does not know whether a step was taken."""
    lease = store.leases.acquire(lease_name("r1"), "me", 600.0)
    progress = store.progress(lease, "r1")
    for _ in range(2):
        progress.begin(REQUEST, workflow="w", file="w.yaml", job_names=["b", "a"], at=100.0)
    for _ in range(2):
        progress.attempt_begins("a", 1, "default", 101.0)
    for _ in range(2):
        progress.attempt_fails("a", 1, ERROR, 102.0)
    progress.attempt_begins("a", 2, "default", 103.0)
    for _ in range(2):
        progress.job_ends("a", 2, "succeeded", at=104.0, written=[OUTPUT], read=INPUTS)
    for _ in range(2):
        progress.finish("failed", 106.0)
    told = [(attempt.number, attempt.status) for attempt in store.runs.attempts("r1")]
    assert told == [(1, "failed"), (2, "succeeded")]
    b, a = store.runs.jobs("r1")
    assert (b.status, a.status, a.attempts, len(a.outputs), len(a.inputs)) == ("queued", "succeeded", 2, 1, 2)


def test_an_unknown_run_is_none(store: Store) -> None:
    assert store.runs.find("r1") is None


def test_attempts_outputs_inputs_and_errors_are_kept(store: Store) -> None:
    progress = _begin(store)
    progress.attempt_begins("a", 1, "default", 101.0)
    progress.attempt_fails("a", 1, ERROR, 102.0)
    progress.attempt_begins("a", 2, "default", 103.0)
    progress.job_ends("a", 2, "succeeded", at=104.0, written=[OUTPUT], read=INPUTS)
    progress.attempt_begins("b", 1, "default", 101.5)
    progress.job_ends("b", 1, "failed", at=105.0, error=ERROR)
    progress.finish("failed", 106.0)
    b, a = store.runs.jobs("r1")
    assert (a.status, a.attempts, a.started, a.finished, a.error, a.outputs) == (
        *("succeeded", 2, 101.0, 104.0, None),
        (OUTPUT,),
    )
    assert a.inputs == INPUTS
    assert (b.status, b.attempts, b.error, b.outputs, b.inputs) == ("failed", 1, ERROR, (), ())
    told = [(t.job, t.number, t.status, t.error) for t in store.runs.attempts("r1")]
    assert told == [("a", 1, "failed", ERROR), ("b", 1, "failed", ERROR), ("a", 2, "succeeded", None)]
    run = store.runs.find("r1")
    assert run is not None
    assert (run.status, run.ended, run.succeeded) == ("failed", 106.0, 1)


def test_a_running_run_whose_lease_ran_out_is_dead(store: Store) -> None:
    _begin(store, seconds=0.0)
    run = store.runs.find("r1")
    assert run is not None
    assert run.status == "dead"


def test_a_running_run_whose_lease_was_given_back_is_dead(store: Store) -> None:
    lease = store.leases.acquire(lease_name("r1"), "me", 600.0)
    store.progress(lease, "r1").begin(REQUEST, workflow="w", file="f", job_names=[], at=100.0)
    store.leases.release(lease)
    run = store.runs.find("r1")
    assert run is not None
    assert (run.status, run.ended) == ("dead", 100.0)


def test_a_finished_run_stays_finished_without_its_lease(store: Store) -> None:
    _begin(store, seconds=0.0).finish("succeeded", 101.0)
    run = store.runs.find("r1")
    assert run is not None
    assert run.status == "succeeded"


def test_a_run_that_was_taken_over_cannot_write(store: Store) -> None:
    progress = _begin(store, seconds=0.0)
    store.leases.acquire(lease_name("r1"), "you", 600.0)
    with pytest.raises(LeaseLost) as caught:
        progress.finish("succeeded", 101.0)
    assert caught.value.code == "lease-lost"
    run = store.runs.find("r1")
    assert run is not None
    assert run.status == "running"


def test_taking_up_keeps_what_succeeded_and_queues_the_rest(store: Store) -> None:
    progress = _begin(store)
    progress.attempt_begins("a", 1, "default", 101.0)
    progress.job_ends("a", 1, "succeeded", at=102.0, written=[OUTPUT])
    progress.attempt_begins("b", 1, "default", 101.0)
    progress.take_up(job_names=["a", "c"], at=200.0)
    assert [(job.name, job.status, job.attempts) for job in store.runs.jobs("r1")] == [
        ("a", "succeeded", 1),
        ("c", "queued", 0),
    ]
    run = store.runs.find("r1")
    assert run is not None
    assert (run.status, run.started, run.resumed) == ("running", 100.0, 200.0)


def test_taking_up_closes_attempts_that_were_lost(store: Store) -> None:
    progress = _begin(store)
    progress.attempt_begins("a", 1, "default", 101.0)
    progress.take_up(job_names=["a", "b"], at=200.0)
    a = store.runs.jobs("r1")[0]
    assert (a.name, a.status, a.attempts, a.started) == ("a", "queued", 1, None)
    assert [(t.status, t.finished) for t in store.runs.attempts("r1")] == [("lost", 200.0)]


def test_newest_runs_come_first(store: Store) -> None:
    for n in range(3):
        _begin(store, f"r{n}", started=float(n))
    assert [run.id for run in store.runs.newest(2)] == ["r2", "r1"]


def test_events_are_numbered_on_from_what_is_there(store: Store) -> None:
    _begin(store)
    lease = store.leases.acquire("x", "me", 600.0)
    first = EventRecord(1.0, "run-started", None, None, None, {"jobs": ["a"]})
    second = EventRecord(2.0, "job-started", "a", 1, "default", {})
    for event in (first, second, second):  # the answer to the second one was lost
        store.events.append(lease, "r1", event)
    assert store.events.of_run("r1") == [first, second]
