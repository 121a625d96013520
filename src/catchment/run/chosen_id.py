"""A run whose id was chosen before it began: the same call starts it, or goes on with it if it has begun.

So a process that was killed can be started again with the same command, and the run is still one run: its write ids
are the same, and jobs that succeeded are kept. Only the holder of the run's lease may execute it.
"""

from __future__ import annotations

from pathlib import Path

from catchment.errors import RequestError
from catchment.plan import prepare
from catchment.plan.model import Plan
from catchment.project.model import Project
from catchment.run.execution import Execution
from catchment.run.identity import RunFacts
from catchment.run.leases import inherited_lease
from catchment.run.results import ErrorReport, Run
from catchment.run.run_history import job_results, read_run
from catchment.run.run_options import RunOptions
from catchment.run_model import RunRequest
from catchment.store import Store, open_store
from catchment.store.holding import HeldLease


def start_or_resume(run_id: str, plan: Plan, project: Project, request: RunRequest, options: RunOptions) -> Run:
    """Run a plan under an id, or what did not succeed of it; raises LeaseHeld if another process is running it."""
    with (
        open_store(project.metastore) as store,
        inherited_lease(store, run_id, options) as heartbeat,
    ):
        project, facts = facts_of(store, run_id, plan, project, request)
        if facts.resumed and read_run(store, run_id).status == "succeeded":
            return read_run(store, run_id)
        if (error := interrupted(facts)) is not None:
            raise RequestError(error.message, code=error.code, hint=error.hint)
        return carry_out(facts, project, options, store, heartbeat)


def facts_of(store: Store, run_id: str, plan: Plan, project: Project, request: RunRequest) -> tuple[Project, RunFacts]:
    """The run as it is to be executed now; one that has begun keeps what it was asked for, and its variables."""
    begun = store.runs.find(run_id)
    if begun is None:
        return project, RunFacts(run_id, plan, request)
    if begun.choices != plan.choices:
        prepared = prepare(Path(plan.file), project=project, recorded=begun.choices)
        project, plan = prepared.require()
    earlier = job_results(store, run_id)
    return project, RunFacts(run_id, plan, begun.request, resumed=True, earlier=earlier)


def interrupted(facts: RunFacts) -> ErrorReport | None:
    """Why the run must not go on by itself: a job with side effects has begun and not finished."""
    careful = {job.name for job in facts.plan.jobs if job.side_effects}
    begun = (job for job in facts.earlier if job.attempts and job.status != "succeeded")
    job = next((job.name for job in begun if job.name in careful), None)
    if job is None:
        return None
    return ErrorReport(
        code="side-effects-interrupted",
        message=f"job {job} has side effects and did not finish, and it is never repeated by itself",
        hint=f"look at what it has changed; then `catchment resume {facts.run_id}` runs it again",
    )


def carry_out(facts: RunFacts, project: Project, options: RunOptions, store: Store, heartbeat: HeldLease) -> Run:
    """Execute the run, as the holder of its lease."""
    with Execution(facts, project, options) as execution:
        execution.warm_up()
        return execution.carry_out(store, heartbeat)
