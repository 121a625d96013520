"""The progress of a thread's Spark jobs, which shows that a statement that takes hours has not hung."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession

from catchment.commit.leases import Progress

JOB_GROUP = "spark.jobGroup.id"
RUNNING = "RUNNING"


def spark_progress(session: SparkSession) -> Progress:
    """The progress of the Spark jobs in the calling thread's group; any thread may call the result."""
    context = session.sparkContext
    group, tracker = context.getLocalProperty(JOB_GROUP), context.statusTracker()

    def progress() -> object:
        jobs = sorted(tracker.getJobIdsForGroup(group))
        known = (tracker.getJobInfo(job) for job in jobs)
        # A single task may take hours, so a running job by itself counts as progress.
        return time.monotonic() if any(job and job.status == RUNNING for job in known) else jobs

    return progress
