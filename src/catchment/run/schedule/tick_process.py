"""Runs one tick in its own process: starts its run, or resumes it after an earlier process died.

The run's id was chosen when the tick was claimed, and only the holder of that run's lease may execute it. So there is
one run, however many processes were started for the tick, by whichever scheduler, and whenever they were killed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone

from catchment.errors import CatchmentError, RequestError
from catchment.plan.model import Plan
from catchment.project.model import Project
from catchment.run.execution import Execution
from catchment.run.identity import RunFacts
from catchment.run.leases import held_lease
from catchment.run.results import ErrorReport, Run
from catchment.run.run_history import job_results, read_run
from catchment.run.run_options import RunOptions
from catchment.run_model import RunRequest
from catchment.store import Store, open_store
from catchment.store.holding import HeldLease
from catchment.store.records import TickRecord

WATCH_SECONDS = 0.5
"""How often a run checks whether it was asked to stop."""
ENDED = "its schedule has come to its end"


def run_tick(
    tick: datetime, plan: Plan, project: Project, options: RunOptions, end: datetime | None = None
) -> Run | None:
    """Run a claimed tick with the tick's time as reference time; None if it was cancelled before it began.

    Raises LeaseHeld if another process is running it.
    """
    with open_store(project.metastore) as store:
        run_id = _known(store, plan.workflow, tick).run_id
        if run_id is None:
            return None
        with held_lease(store, run_id, options.timing.lease) as heartbeat:
            # Read only now: the previous holder of the lease may have made progress until now.
            record = _known(store, plan.workflow, tick)
            if not record.settled and _called_off(store, record, end):
                store.ticks.give_up(record, heartbeat.lease, "cancelled", record.asked or ENDED)
                return None
            if record.settled:
                return read_run(store, run_id) if store.runs.find(run_id) else None
            facts = _facts(store, run_id, tick, plan)
            if (job := _interrupted(facts)) is not None:
                error = asdict(_not_repeated(job, run_id))
                store.ticks.give_up(record, heartbeat.lease, "failed", error["message"], error)
                return read_run(store, run_id)
            with _watching(store, record, end, options.stop):
                return _carry_out(facts, project, options, store, heartbeat)


def _facts(store: Store, run_id: str, tick: datetime, plan: Plan) -> RunFacts:
    begun = store.runs.find(run_id) is not None
    earlier = job_results(store, run_id) if begun else ()
    request = RunRequest(tick.astimezone(timezone.utc).isoformat())
    return RunFacts(run_id, plan, request, resumed=begun, earlier=earlier)


def _interrupted(facts: RunFacts) -> str | None:
    """A job with side effects that an earlier process has begun and not finished: only a person may repeat it."""
    careful = {job.name for job in facts.plan.jobs if job.side_effects}
    begun = (job for job in facts.earlier if job.attempts and job.status != "succeeded")
    return next((job.name for job in begun if job.name in careful), None)


def _not_repeated(job: str, run_id: str) -> ErrorReport:
    return ErrorReport(
        code="side-effects-interrupted",
        message=f"job {job} has side effects and did not finish, and it is never repeated by itself",
        hint=f"look at what it has changed; then `catchment resume {run_id}` runs it again",
    )


def _carry_out(facts: RunFacts, project: Project, options: RunOptions, store: Store, heartbeat: HeldLease) -> Run:
    with Execution(facts, project, options) as execution:
        execution.warm_up()
        return execution.carry_out(store, heartbeat)


def _known(store: Store, workflow: str, tick: datetime) -> TickRecord:
    record = store.ticks.find(workflow, tick.timestamp())
    if record is None:
        raise RequestError(
            f"no scheduler has claimed the tick {tick.isoformat()} of {workflow}",
            code="tick-not-found",
            hint="`catchment schedule` claims ticks and starts their runs by itself",
        )
    return record


@contextmanager
def _watching(store: Store, record: TickRecord, end: datetime | None, stop: threading.Event) -> Iterator[None]:
    """Set `stop` once the run is asked to stop or its schedule ends."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(WATCH_SECONDS):
            try:
                if _called_off(store, record, end):
                    stop.set()
                    return
            except CatchmentError:
                continue  # the metastore does not answer; the run's heartbeat handles that

    thread = threading.Thread(target=watch, name="catchment-tick", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _called_off(store: Store, record: TickRecord, end: datetime | None) -> bool:
    """Whether the run must stop or must not begin; if the schedule has ended, that is recorded as the reason."""
    if end is not None and datetime.now(timezone.utc) > end:
        store.ticks.ask(record, ENDED)
        return True
    now = store.ticks.find(*record.key)
    return now is not None and now.asked is not None
