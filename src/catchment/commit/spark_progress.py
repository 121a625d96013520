"""What Spark does for a thread: the sign that a statement which takes hours does not hang."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession

from catchment.commit.leases import Progress

JOB_GROUP = "spark.jobGroup.id"
RUNNING = "RUNNING"


def spark_progress(session: SparkSession) -> Progress:
    """The progress of the Spark jobs of the calling thread's group; other threads may ask for it."""
    context = session.sparkContext
    group, tracker = context.getLocalProperty(JOB_GROUP), context.statusTracker()

    def progress() -> object:
        jobs = sorted(tracker.getJobIdsForGroup(group))
        known = (tracker.getJobInfo(job) for job in jobs)
        # A single task may take hours. So a job that is running counts as progress by itself, whatever it has done.
        return time.monotonic() if any(job and job.status == RUNNING for job in known) else jobs

    return progress
