"""Taking up a run that failed, was cancelled or died: the same run, its workflow read anew."""

from __future__ import annotations

from pathlib import Path

from catchment.engine.protocol import Backfill
from catchment.plan import prepare
from catchment.project.model import Project
from catchment.run.execution import Execution
from catchment.run.facts import RunFacts
from catchment.run.heartbeat import Heartbeat, held_lease
from catchment.run.history import job_results, known_run, read_run
from catchment.run.model import Run
from catchment.run.options import Options
from catchment.store import Store, open_store
from catchment.store.records import RunRecord


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
    asked = found.windows, Backfill.of(found.backfill) if found.backfill else None
    facts = RunFacts(found.id, found.reference_time, plan, *asked, resumed=True, earlier=earlier)
    with Execution(facts, project, options) as execution:
        execution.warm_up()
        return execution.carry_out(store, heartbeat)
