"""Start a new run, or resume an earlier one."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from catchment.plan import prepare
from catchment.plan.model import Plan
from catchment.project.model import Project
from catchment.run.execution import Execution
from catchment.run.facts import RunFacts
from catchment.run.history import job_results, known_run, read_run
from catchment.run.identity import new_run_id
from catchment.run.leases import Heartbeat, held_lease
from catchment.run.model import Run
from catchment.run.options import Options
from catchment.run_model import RunRequest
from catchment.store import Store, open_store
from catchment.store.records import RunRecord


def start_run(plan: Plan, project: Project, request: RunRequest, options: Options) -> Run:
    """Run a plan to its end."""
    facts = RunFacts(new_run_id(datetime.now(timezone.utc)), plan, request)
    with Execution(facts, project, options) as execution:
        execution.warm_up()
        # Only now: these load the metastore's library, which is slow, while the engines are starting.
        from catchment.run.leases import held_lease
        from catchment.store import open_store

        with (
            open_store(project.metastore) as store,
            held_lease(store, facts.run_id, options.timing.lease) as heartbeat,
        ):
            return execution.carry_out(store, heartbeat)


def resume_run(run_id: str, project: Project, options: Options) -> Run:
    """Run what did not succeed, under the same run id and reference time, so that write ids stay the same."""
    with open_store(project.metastore) as store:
        if known_run(store, run_id).status == "succeeded":
            return read_run(store, run_id)
        with held_lease(store, run_id, options.timing.lease) as heartbeat:
            # Read again: whoever held the lease before us may have gone on until then.
            return _take_up(known_run(store, run_id), project, options, store, heartbeat)


def _take_up(found: RunRecord, project: Project, options: Options, store: Store, heartbeat: Heartbeat) -> Run:
    _, plan = prepare(Path(found.file), project=project).require()
    earlier = job_results(store, found.id)
    facts = RunFacts(found.id, plan, found.request, resumed=True, earlier=earlier)
    with Execution(facts, project, options) as execution:
        execution.warm_up()
        return execution.carry_out(store, heartbeat)
