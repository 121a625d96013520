"""What a workflow would do differently than its last run did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from catchment.errors import RequestError
from catchment.plan.comparison import JobChange, compare
from catchment.plan.model import Plan
from catchment.project.model import Project
from catchment.project.secrets import Redactor
from catchment.run.run_history import known_run
from catchment.store import Store, read_store


@dataclass(frozen=True)
class WorkflowChanges:
    """The changes since a run. The order of the fields is their order in the JSON of `catchment diff`."""

    workflow: str
    run_id: str | None
    """The run that was compared with; None if the workflow has not run yet."""
    started: datetime | None
    jobs: tuple[JobChange, ...]


def changes_since(plan: Plan, project: Project, run_id: str | None = None) -> WorkflowChanges:
    """Compare a plan with the newest run of its workflow, or with the one that is named."""
    # What is recorded has no secrets, so that it can be compared only with what has none.
    now = Redactor(project.secrets).data(dict(plan.definition))
    with read_store(project.metastore) as store:
        found = run_id or store.runs.newest_of(plan.workflow)
        if found is None:
            return WorkflowChanges(plan.workflow, None, None, compare({}, now))
        record = known_run(store, found)
        then = _definition(store, found)
    started = datetime.fromtimestamp(record.started, timezone.utc)
    return WorkflowChanges(plan.workflow, found, started, compare(then, now))


def _definition(store: Store, run_id: str) -> dict[str, object]:
    known = store.runs.definition(run_id)
    if known is None:
        raise RequestError(
            f"nothing was recorded of what the workflow of run {run_id} said",
            code="no-definition",
            hint="compare with a later run: `catchment runs` lists them",
        )
    return dict(known)
