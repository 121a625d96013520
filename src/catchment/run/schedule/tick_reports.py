"""The results of ticks: plain values, printed as JSON by `catchment schedule` and `catchment ticks`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, cast

from catchment.project.model import Project
from catchment.run.results import ErrorReport
from catchment.run.run_history import job_results
from catchment.store import Store, read_store
from catchment.store.records import TickRecord

TickStatus = Literal["claimed", "running", "dead", "succeeded", "failed", "cancelled", "skipped"]


@dataclass(frozen=True)
class TickReport:
    """One tick of a schedule."""

    workflow: str
    tick: datetime
    """UTC."""
    status: TickStatus
    reason: str | None
    """Why it was skipped or its run was cancelled."""
    run_id: str | None
    starts: int
    """How often its run was started or resumed."""
    seconds: float
    error: ErrorReport | None
    """Why it failed; if several jobs failed, the error of the first."""
    scheduler: str
    """The scheduler that is responsible for it."""


def newest(project: Project, limit: int, workflow: str | None = None) -> list[TickReport]:
    """The last ticks of a project, newest first."""
    with read_store(project.metastore) as store:
        return [report(store, record) for record in store.ticks.newest(limit, workflow)]


def report(store: Store, record: TickRecord) -> TickReport:
    """The report of a tick from its record in the metastore."""
    return TickReport(
        workflow=record.workflow,
        tick=moment(record.tick),
        status=cast(TickStatus, record.status),
        reason=record.reason,
        run_id=record.run_id,
        starts=record.tries,
        seconds=record.seconds,
        error=_error(store, record),
        scheduler=record.owner,
    )


def moment(seconds: float) -> datetime:
    """Seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, timezone.utc)


def _error(store: Store, record: TickRecord) -> ErrorReport | None:
    if record.error:
        return ErrorReport(**record.error)
    if record.run_id is None or record.status != "failed":
        return None
    return next((job.error for job in job_results(store, record.run_id) if job.error), None)
