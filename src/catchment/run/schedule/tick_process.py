"""Runs one tick in its own process: starts its run, or resumes it after an earlier process died.

The run's id was chosen when the tick was claimed, and only the holder of that run's lease may execute it. So there is
one run, however many processes were started for the tick, by whichever scheduler, and whenever they were killed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime, timezone

from catchment.errors import CatchmentError, RequestError
from catchment.events.hub import waited_for_last
from catchment.plan.model import Plan
from catchment.project.model import Project
from catchment.run import chosen_id
from catchment.run.leases import held_lease
from catchment.run.results import Run
from catchment.run.run_history import read_run
from catchment.run.run_options import RunOptions
from catchment.run_model import RunRequest
from catchment.store import Store, open_store
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
    with waited_for_last(options.sinks) as readers:
        return _run_tick(tick, plan, project, replace(options, sinks=readers), end)


def _run_tick(tick: datetime, plan: Plan, project: Project, options: RunOptions, end: datetime | None) -> Run | None:
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
            request = RunRequest(tick.astimezone(timezone.utc).isoformat())
            project, facts = chosen_id.facts_of(store, run_id, plan, project, request)
            if (error := chosen_id.interrupted(facts)) is not None:
                store.ticks.give_up(record, heartbeat.lease, "failed", error.message, asdict(error))
                return read_run(store, run_id)
            with _watching(store, record, end, options.stop):
                return chosen_id.carry_out(facts, project, options, store, heartbeat)


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
