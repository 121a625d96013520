"""How a lease that is held for a statement of Spark is told that the statement moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from catchment.commit.spark_progress import spark_progress


@dataclass
class Spark:
    """A Spark application with the jobs of two attempts."""

    jobs: dict[str, dict[int, str]] = field(default_factory=lambda: {"ours": {}, "theirs": {9: "RUNNING"}})

    def session(self) -> Any:
        tracker = SimpleNamespace(
            getJobIdsForGroup=lambda group: list(self.jobs[group]),
            getJobInfo=lambda job: next(
                SimpleNamespace(status=jobs[job]) for jobs in self.jobs.values() if job in jobs
            ),
        )
        context = SimpleNamespace(getLocalProperty=lambda _: "ours", statusTracker=lambda: tracker)
        return SimpleNamespace(sparkContext=context)


def test_a_job_that_runs_and_a_job_that_has_run_since_are_progress() -> None:
    spark = Spark()
    progress = spark_progress(spark.session())
    assert progress() == progress()  # what others do does not count
    spark.jobs["ours"][1] = "RUNNING"
    assert progress() != progress()
    spark.jobs["ours"][1] = "SUCCEEDED"
    between = progress()
    assert progress() == between
    spark.jobs["ours"][2] = "FAILED"
    assert progress() != between
