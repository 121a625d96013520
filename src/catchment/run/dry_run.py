"""A run that writes nothing: what its jobs would compute, on a sample of their inputs or without data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from catchment.plan.model import Plan
from catchment.project.model import Project
from catchment.run.engine_pool import Launch
from catchment.run.lake import LakeSession
from catchment.run_model import RunRequest

SAMPLE_ROWS = 1000
"""How many rows of each input are read if nobody says it."""
SHOWN_ROWS = 10


def dry_run(
    plan: Plan,
    project: Project,
    *,
    sample: int | None = SAMPLE_ROWS,
    rows: int = SHOWN_ROWS,
    tell: Callable[[str], None] = lambda _: None,
    launch: Launch | None = None,
) -> list[Mapping[str, Any]]:
    """What each job would compute. Without a sample, no rows are read: columns alone are looked at.

    Jobs of different engines do not see each other's rows: they read tables as they are.
    """
    request, found = RunRequest(), dict[str, Mapping[str, Any]]()
    for engine in plan.engines:
        jobs = [job for job in plan.jobs if job.engine == engine.key]
        with LakeSession(project, planned=engine, tell=tell, launch=launch) as session:
            facts = session.try_jobs(jobs, plan.workflow, request, sample=sample, rows=rows)
        found.update({each["name"]: each for each in facts["jobs"]})
    return [found[job.name] for job in plan.jobs]
