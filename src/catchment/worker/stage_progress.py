"""How far the Spark jobs of an attempt are: the stages and tasks that Spark counts, and what they have written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

RUNNING = "RUNNING"
NEWEST = 20
"""So many of the newest jobs of an attempt are looked at: those that run are among them."""


def stage_progress(context: SparkContext, group: str) -> Mapping[str, Any] | None:
    """The progress of the Spark jobs that the group is running; None if it runs none."""
    tracker = context.statusTracker()
    newest = sorted(tracker.getJobIdsForGroup(group))[-NEWEST:]
    jobs = [job for number in newest if (job := tracker.getJobInfo(number)) and job.status == RUNNING]
    every = {stage for job in jobs for stage in job.stageIds}
    known = {number: stage for number in every if (stage := tracker.getStageInfo(number))}
    if not known:
        return None
    running = {number: stage for number, stage in known.items() if stage.numCompletedTasks < stage.numTasks}
    counted = running or known
    written = [_written(context, number) for number in running]
    return {
        "done": sum(stage.numCompletedTasks for stage in counted.values()),
        "total": sum(stage.numTasks for stage in counted.values()),
        "stages": sorted(counted),
        "stages_done": len(known) - len(running),
        "stages_total": len(every),
        "rows": sum(rows for rows, _ in written),
        "bytes": sum(size for _, size in written),
    }


def _written(context: SparkContext, stage: int) -> tuple[int, int]:
    """Rows and bytes that the tasks of a stage have written so far."""
    with suppress(Py4JError):  # Spark has forgotten the stage, or not heard of it yet
        data = context._jsc.sc().statusStore().lastStageAttempt(stage)
        return int(data.outputRecords()), int(data.outputBytes())
    return 0, 0
