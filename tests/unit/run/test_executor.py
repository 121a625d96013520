"""Jobs in the right order, as many at once as allowed, and a failure that hurts its dependants only."""

from __future__ import annotations

import os
import threading
from datetime import datetime

import pytest

from catchment.errors import RequestError
from catchment.run import run_history
from catchment.store import open_store
from tests.unit.run.conftest import Lab, Recorder, job, statuses


def test_a_run_that_succeeds_tells_what_was_written(lab: Lab, recorder: Recorder) -> None:
    result = lab.run(job("a", "note"), sinks=[recorder])
    (only,) = result.jobs
    assert (result.workflow, result.status) == ("flow", "succeeded")
    assert (only.status, only.attempts, only.error) == ("succeeded", 1, None)
    (output,) = only.outputs
    assert (output.dataset, output.rows, output.files, output.snapshot_id) == ("dataos://lake:raw/a", 10, 2, str(2**62))
    assert output.write_id == f"{result.run_id}/a/out"
    engine = ["engine-starting", "engine-preparing", "engine-ready", "engine-stopped"]
    assert recorder.kinds() == ["run-started", *engine, "run-finished"]
    assert recorder.kinds("a") == ["job-started", "job-succeeded"]
    assert recorder.closed


def test_what_is_in_the_metastore_is_what_was_returned(lab: Lab) -> None:
    result = lab.run(job("a"), job("b", "fail job"), job("c", "", "b"))
    kept = run_history.show(lab.project, result.run_id)
    assert [(j.name, j.status, j.attempts, j.error, j.outputs, j.inputs) for j in kept.jobs] == [
        (j.name, j.status, j.attempts, j.error, j.outputs, j.inputs) for j in result.jobs
    ]
    assert [[source.bad_rows for source in j.inputs] for j in kept.jobs] == [[3], [], []]
    (summary,) = run_history.runs(lab.project, 10)
    assert (summary.run_id, summary.status, summary.jobs, summary.succeeded) == (result.run_id, "failed", 3, 1)


def test_the_start_of_an_engine_is_no_time_of_its_jobs(lab: Lab, recorder: Recorder) -> None:
    result = lab.run(job("a"), envs={"STARTS_IN": "1"}, sinks=[recorder])
    shown = run_history.show(lab.project, result.run_id)
    for (each,) in (result.jobs, shown.jobs):
        assert each.engine_seconds > 0
        assert each.seconds + each.engine_seconds <= result.seconds
    assert recorder.of("engine-ready")[0].data["seconds"] >= 1


def test_events_are_kept_without_the_ticks_of_progress(lab: Lab, recorder: Recorder) -> None:
    result = lab.run(job("a", "note"), sinks=[recorder])
    with open_store(lab.project.metastore) as store:
        stored = store.events.of_run(result.run_id)
    told = [event for event in recorder.events if event.data.get("event") != "progress"]
    assert [event.kind for event in stored] == [event.kind for event in told]
    assert len(told) == len(recorder.events) - 1
    lines = (lab.root / ".catchment" / "runs" / result.run_id / "events.jsonl").read_text().splitlines()
    assert len(lines) == len(recorder.events)


def test_dependants_wait(lab: Lab) -> None:
    result = lab.run(job("a", "sleep 0.1"), job("b", "sleep 0.1", "a"), job("c", "", "a", "b"))
    assert result.status == "succeeded"
    order = [(line["what"], line["job"]) for line in lab.trace() if "job" in line]
    assert order == [(what, name) for name in "abc" for what in ("begin", "end")]


def test_independent_jobs_run_at_once(lab: Lab) -> None:
    lab.run(*(job(f"j{n}", "beside 3") for n in range(3)))
    assert max(_at_once(lab)) == 3


def test_no_more_jobs_at_once_than_allowed(lab: Lab) -> None:
    result = lab.run(*(job(f"j{n}", "beside 2") for n in range(6)), jobs=2)
    assert result.status == "succeeded"
    assert max(_at_once(lab)) == 2


@pytest.mark.parametrize("jobs", [0, -1])
def test_fewer_than_one_job_at_once_is_refused(lab: Lab, jobs: int) -> None:
    with pytest.raises(RequestError) as caught:
        lab.run(job("a"), jobs=jobs)
    assert caught.value.code == "bad-jobs"


def test_a_failure_skips_its_dependants_and_nothing_else(lab: Lab, recorder: Recorder) -> None:
    result = lab.run(
        job("bad", "fail job"),
        job("near", "", "bad"),
        job("far", "", "near", "good"),
        job("good", "sleep 0.2"),
        job("after", "", "good"),
        sinks=[recorder],
    )
    assert result.status == "failed"
    assert statuses(result) == {
        "bad": "failed",
        "near": "skipped",
        "far": "skipped",
        "good": "succeeded",
        "after": "succeeded",
    }
    skipped = [(event.job, event.data["because"]) for event in recorder.of("job-skipped")]
    assert skipped == [("near", "bad"), ("far", "bad")]
    assert {line["job"] for line in lab.trace("begin")} == {"bad", "good", "after"}


def test_an_error_says_what_where_and_what_next(lab: Lab) -> None:
    (only,) = lab.run(job("a", "fail job")).jobs
    assert only.error is not None
    assert (only.error.code, only.error.hint) == ("script-job", "mend it")
    assert (only.error.file, only.error.line, only.error.column) == ("w.yaml", 3, 7)


def test_an_error_without_a_hint_points_to_the_log(lab: Lab) -> None:
    result = lab.run(job("a", "fail transient"))
    error = result.jobs[0].error
    assert error is not None
    assert error.hint == f"`catchment logs {result.run_id} --job a` shows what it did"


def test_a_secret_in_an_error_reaches_nobody(lab: Lab, recorder: Recorder) -> None:
    result = lab.run(job("a", "fail job"), envs={"SAYS": "hunter22"}, sinks=[recorder])
    (only,) = result.jobs
    assert only.error is not None
    assert only.error.message == "it said no, ***"
    assert "hunter22" not in str(recorder.events)
    home = lab.root / ".catchment"
    holders = [path for path in home.rglob("*") if path.is_file() and b"hunter22" in path.read_bytes()]
    assert holders == []


def test_jobs_of_one_engine_share_a_process_and_others_do_not(lab: Lab) -> None:
    lab.run(job("a"), job("b", "", "a"), job("c", "", engine="other"))
    of_job = {line["job"]: line["pid"] for line in lab.trace("begin")}
    assert of_job["a"] == of_job["b"] != of_job["c"]
    assert len(lab.trace("start")) == 2


def test_an_engine_is_stopped_as_soon_as_nobody_needs_it(lab: Lab) -> None:
    lab.run(job("short", engine="one"), job("long", "sleep 1", engine="two"))
    stops = {line["pid"]: line["at"] for line in lab.trace("stop")}
    begun = {line["job"]: line["pid"] for line in lab.trace("begin")}
    (ended,) = (line["at"] for line in lab.trace("end") if line["job"] == "long")
    assert stops[begun["short"]] < ended


def test_an_engine_that_only_dependants_need_starts_when_they_are_ready(lab: Lab) -> None:
    lab.run(job("a", "sleep 0.3", engine="one"), job("b", "", "a", engine="two"))
    (ended,) = (line["at"] for line in lab.trace("end") if line["job"] == "a")
    assert lab.trace("start")[1]["at"] >= ended


def test_nothing_is_left_behind(lab: Lab) -> None:
    lab.run(job("a"), job("b", "fail job", engine="other"))
    for line in lab.trace("start"):
        with pytest.raises(ProcessLookupError):
            os.kill(line["pid"], 0)


def test_an_engine_that_takes_time_to_stop_is_waited_for(lab: Lab) -> None:
    lab.run(job("a"), envs={"STOPS_IN": "0.5"})
    assert len(lab.trace("stop")) == 1


def test_the_reference_time_is_the_moment_the_run_began(lab: Lab) -> None:
    lab.run(job("a"), job("b", "", "a"))
    (moment,) = {line["reference_time"] for line in lab.trace("begin")}
    assert datetime.fromisoformat(moment).tzinfo is not None


def test_two_runs_at_once_on_one_metastore(lab: Lab) -> None:
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(lab.run(job("a", "sleep 0.3"), job("b", "", "a"))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.status for result in results] == ["succeeded", "succeeded"]
    assert len(run_history.runs(lab.project, 10)) == 2


def _at_once(lab: Lab) -> list[int]:
    count, counts = 0, []
    for line in sorted((line for line in lab.trace() if "job" in line), key=lambda line: line["at"]):
        count += 1 if line["what"] == "begin" else -1
        counts.append(count)
    return counts
