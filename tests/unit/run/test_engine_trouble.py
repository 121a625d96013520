"""Engines that die, talk nonsense or cannot start fail the attempts they had, and never the run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from catchment.events.hub import Event
from catchment.run import run_logs
from catchment.spec.model import Retry
from tests.unit.run.conftest import Lab, Recorder, job, statuses


@dataclass(frozen=True)
class Mark:
    """A sink that makes a file when something has happened, for jobs that wait for it."""

    kind: str
    file: Path

    def emit(self, event: Event) -> None:
        if event.kind == self.kind:
            self.file.touch()

    def close(self) -> None:
        pass


def test_an_engine_that_dies_fails_its_attempts_and_the_run_goes_on(lab: Lab, recorder: Recorder) -> None:
    result = lab.run(
        job("dies", "beside 3; die"),
        job("beside", "hang"),
        job("elsewhere", f"until {lab.root}/lost", engine="other"),
        job("later", "", "elsewhere"),
        sinks=[recorder, Mark("engine-lost", lab.root / "lost")],
    )
    assert statuses(result) == {
        "dies": "failed",
        "beside": "failed",
        "elsewhere": "succeeded",
        "later": "succeeded",
    }
    assert [each.error.code for each in result.jobs if each.error] == ["engine-lost", "engine-lost"]
    pids = {line["job"]: line["pid"] for line in lab.trace("begin")}
    assert pids["later"] not in (pids["dies"], pids["elsewhere"])
    assert len(recorder.of("engine-lost")) == 1


def test_an_attempt_lost_with_its_engine_is_tried_again_on_a_new_one(lab: Lab) -> None:
    result = lab.run(job("a", "die 1", retry=Retry(1, "OnTransientError")))
    assert [(each.status, each.attempts) for each in result.jobs] == [("succeeded", 2)]
    assert len({line["pid"] for line in lab.trace("begin")}) == 2


def test_without_a_retry_a_lost_attempt_is_a_failure(lab: Lab) -> None:
    (only,) = lab.run(job("a", "die")).jobs
    assert (only.status, only.attempts) == ("failed", 1)


def test_a_job_that_uses_up_the_memory_of_its_engine_would_do_so_again(lab: Lab, recorder: Recorder) -> None:
    (only,) = lab.run(job("a", "exhaust", retry=Retry(3, "OnTransientError")), sinks=[recorder]).jobs
    assert (only.status, only.attempts) == ("failed", 1)
    assert only.error is not None
    assert only.error.code == "out-of-memory"
    assert "engine default ran out of memory and ended; it had 1g" in only.error.message
    assert "spark.driver.memory" in str(only.error.hint)
    assert len(recorder.of("engine-lost")) == 1


def test_of_jobs_that_share_an_engine_nobody_knows_whose_memory_it_was(lab: Lab) -> None:
    again = Retry(1, "OnTransientError")
    result = lab.run(job("a", "beside 2; exhaust 1", retry=again), job("b", "beside 3", retry=again), jobs=2)
    assert [(each.status, each.attempts) for each in result.jobs] == [("succeeded", 2), ("succeeded", 2)]


def test_a_job_whose_neighbour_is_known_to_have_used_up_the_memory_is_not_to_blame(lab: Lab) -> None:
    again = Retry(1, "OnTransientError")
    greedy, neighbour = (
        job("a", "beside 2; overdraw", retry=again),
        job("b", f"until {lab.root}/failed; exhaust 1", retry=again),
    )
    result = lab.run(greedy, neighbour, jobs=2, sinks=[Mark("job-failed", lab.root / "failed")])
    assert [(each.status, each.attempts) for each in result.jobs] == [("failed", 1), ("succeeded", 2)]


def test_a_job_that_waited_for_memory_is_not_to_blame_and_has_lost_no_attempt(lab: Lab, recorder: Recorder) -> None:
    greedy = job("a", "sleep 0.3; exhaust", retry=Retry(3, "OnTransientError"))
    result = lab.run(greedy, job("b", "crowded 1", retry=Retry(0)), sinks=[recorder])
    assert [(each.status, each.attempts) for each in result.jobs] == [("failed", 1), ("succeeded", 2)]
    assert [event.data["event"] for event in recorder.of("job-note")] == ["waiting-for-memory"]


def test_an_engine_that_talks_nonsense_is_lost(lab: Lab) -> None:
    result = lab.run(job("a", "nonsense 1", retry=Retry(1)), job("b", "", "a"))
    assert statuses(result) == {"a": "succeeded", "b": "succeeded"}
    assert result.jobs[0].attempts == 2


def test_an_engine_that_cannot_start_fails_all_its_jobs_at_once(lab: Lab) -> None:
    result = lab.run(job("a"), job("b"), job("c"), jobs=2, envs={"REFUSES": "setup"})
    assert [(each.status, each.attempts) for each in result.jobs] == [("failed", 1)] * 3
    assert {each.error.code for each in result.jobs if each.error} == {"script-setup"}
    assert len(lab.trace("start")) == 1


def test_a_refused_start_is_tried_again_where_the_job_asks_for_it(lab: Lab) -> None:
    (only,) = lab.run(job("a", retry=Retry(1, "OnError")), envs={"REFUSES": "setup"}).jobs
    assert (only.status, only.attempts) == ("failed", 2)
    assert len(lab.trace("start")) == 2


def test_an_engine_that_starts_after_all_serves_the_jobs_to_come(lab: Lab) -> None:
    result = lab.run(job("a", retry=Retry(1, "OnError")), job("b"), jobs=1, envs={"REFUSES": "setup 1"})
    assert [(each.status, each.attempts) for each in result.jobs] == [("succeeded", 2), ("succeeded", 1)]


def test_logs_of_a_run_are_found(lab: Lab) -> None:
    result = lab.run(job("a"), job("b", engine="other"))
    directory = lab.root / ".catchment" / "runs" / result.run_id
    for name in ("a.1.log", "a.10.log", "a.2.log"):
        (directory / name).write_text("")
    assert {path.name for path in run_logs.log_files(lab.project, result.run_id)} >= {
        "engine-default.log",
        "a.1.log",
    }
    told = run_logs.log_files(lab.project, result.run_id, "a")
    assert [path.name for path in told] == ["a.1.log", "a.2.log", "a.10.log"]
