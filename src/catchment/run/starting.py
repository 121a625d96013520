"""A new run."""

from __future__ import annotations

from datetime import datetime, timezone

from catchment.plan.model import Plan
from catchment.project.model import Project
from catchment.run.execution import Execution
from catchment.run.facts import RunFacts
from catchment.run.identity import new_run_id
from catchment.run.model import Run
from catchment.run.options import Options


def start_run(plan: Plan, project: Project, options: Options, as_of: str | None = None) -> Run:
    """Run a plan to its end, as of now or of another moment."""
    now = datetime.now(timezone.utc)
    facts = RunFacts(new_run_id(now), as_of or now.isoformat(), plan, options.windows, options.backfill)
    with Execution(facts, project, options) as execution:
        execution.warm_up()
        # Only now: these load the metastore's library, which is slow, while the engines are starting.
        from catchment.run.heartbeat import held_lease
        from catchment.store import open_store

        with (
            open_store(project.metastore) as store,
            held_lease(store, facts.run_id, options.timing.lease) as heartbeat,
        ):
            return execution.carry_out(store, heartbeat)
