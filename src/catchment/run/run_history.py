"""Reads the results of runs from the metastore."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import cast

from catchment.errors import RequestError
from catchment.process_identity import is_gone
from catchment.project.model import Project
from catchment.run.results import ErrorReport, JobResult, JobStatus, Run, RunStatus, RunSummary
from catchment.store import Store, read_store
from catchment.store.records import JobRecord, RunRecord

LOOK_SECONDS = 1.0
"""How often somebody who watches looks."""


def runs(project: Project, limit: int) -> list[RunSummary]:
    """The latest runs, newest first; a run whose process died has the status `dead`."""
    with read_store(project.metastore) as store:
        return [_summary(record) for record in store.runs.newest(limit)]


def watch(project: Project, limit: int) -> Iterator[list[RunSummary]]:
    """The latest runs again and again, with a pause between."""
    while True:
        yield runs(project, limit)
        time.sleep(LOOK_SECONDS)


def watch_run(project: Project, run_id: str) -> Iterator[Run]:
    """One run again and again, with a pause between, until it has ended."""
    with read_store(project.metastore) as store:
        yield (run := read_run(store, run_id))
        while run.status == "running":
            time.sleep(LOOK_SECONDS)
            yield (run := read_run(store, run_id))


def show(project: Project, run_id: str) -> Run:
    """One run with its jobs, outputs and errors."""
    with read_store(project.metastore) as store:
        return read_run(store, run_id)


def find(project: Project, run_id: str) -> RunRecord:
    """The record of one run; raises RequestError if there is no such run."""
    with read_store(project.metastore) as store:
        return known_run(store, run_id)


def newest(project: Project) -> RunRecord:
    """The record of the newest run; raises RequestError if there is none."""
    with read_store(project.metastore) as store:
        found = store.runs.newest(1)
    if not found:
        raise RequestError("this project has no runs yet", code="no-runs", hint="catchment run FILE starts one")
    return found[0]


def known_run(store: Store, run_id: str) -> RunRecord:
    """The record of one run from an open metastore; raises RequestError if there is no such run."""
    record = store.runs.find(run_id)
    if record is None:
        raise RequestError(
            f"there is no run {run_id!r} in this project",
            code="run-not-found",
            hint="`catchment runs` lists them; each environment (`--env`) has its own",
        )
    return record


def read_run(store: Store, run_id: str) -> Run:
    """One run from an open metastore."""
    record = known_run(store, run_id)
    jobs = tuple(_job(job, record.resumed) for job in store.runs.jobs(run_id))
    chosen = record.choices
    return Run(
        record.id,
        record.workflow,
        _status(record),
        _seconds(record),
        jobs,
        chosen.environment,
        chosen.variables,
        chosen.left_out,
    )


def job_results(store: Store, run_id: str) -> tuple[JobResult, ...]:
    """The results of a run's jobs so far."""
    return tuple(_job(record) for record in store.runs.jobs(run_id))


def _summary(record: RunRecord) -> RunSummary:
    return RunSummary(
        run_id=record.id,
        workflow=record.workflow,
        file=record.file,
        status=_status(record),
        started=datetime.fromtimestamp(record.started, timezone.utc),
        seconds=_seconds(record),
        jobs=record.jobs,
        succeeded=record.succeeded,
        environment=record.choices.environment,
    )


def _job(record: JobRecord, resumed: float | None = None) -> JobResult:
    """The result of a job; one that succeeded before the run was last resumed was kept."""
    began, ended = record.started, record.finished
    seconds = ended - began - record.engine_seconds if began is not None and ended is not None else 0.0
    return JobResult(
        record.name,
        cast(JobStatus, record.status),
        record.attempts,
        max(seconds, 0.0),
        ErrorReport(**record.error) if record.error else None,
        record.outputs,
        record.inputs,
        record.engine_seconds,
        kept=record.status == "succeeded" and (ended or 0.0) < (resumed or 0.0),
    )


def _status(record: RunRecord) -> RunStatus:
    """The status of a run; one whose process was killed on this machine is dead at once."""
    killed = record.status == "running" and record.process is not None and is_gone(record.process)
    return "dead" if killed else cast(RunStatus, record.status)


def _seconds(record: RunRecord) -> float:
    return max(record.ended - (record.resumed or record.started), 0.0)
