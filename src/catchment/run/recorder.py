"""Records what happens in a run: in the metastore, in the event stream, and in the result that the caller gets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from catchment.engine.protocol import Done, Failed, Note
from catchment.errors import EngineLost
from catchment.events.hub import EventKind, Hub
from catchment.plan.model import JobPlan
from catchment.project.secrets import Redactor
from catchment.run.identity import RunFacts
from catchment.run.results import ErrorReport, JobResult, Run, RunStatus
from catchment.store import Progress


class RunRecorder:
    """The record of one run. Every change is durable in the metastore before an event reports it."""

    def __init__(self, facts: RunFacts, progress: Progress, hub: Hub, redactor: Redactor) -> None:
        self._facts = facts
        self._progress = progress
        self._hub = hub
        self._redactor = redactor
        self._began = time.time()
        self._first: dict[str, float] = {}
        self._waiting: dict[str, float] = {}
        """Since when the attempts wait for their engines."""
        self._waited: dict[str, float] = {}
        self._status: RunStatus = "running"
        self._ended: float | None = None
        known = {job.name: job for job in facts.earlier}
        self._jobs = {job.name: _queued(job, known.get(job.name)) for job in facts.plan.jobs}

    def begin(self) -> None:
        """The run begins, or is resumed."""
        plan, names = self._facts.plan, list(self._jobs)
        said = self._redactor.data(dict(plan.definition))
        if self._facts.resumed:
            self._progress.take_up(job_names=names, at=self._began, choices=plan.choices, definition=said)
        else:
            self._progress.begin(
                self._facts.request,
                workflow=plan.workflow,
                file=str(Path(plan.file).resolve()),
                job_names=names,
                at=self._began,
                choices=plan.choices,
                definition=said,
            )
        for job in self._jobs.values():
            if job.name in self._facts.kept:
                self._tell("job-succeeded", job.name, _success(job))
        for name in self._facts.changed_outputs():
            self._warn(name, "succeeded before its outputs were changed in the workflow; it is not run again")

    def attempts(self, job: str) -> int:
        """How many attempts the job has had, in this process and before."""
        return self._jobs[job].attempts

    def attempt_begins(self, job: str, number: int, engine: str) -> None:
        """An attempt begins; its engine may still be starting."""
        now = time.time()
        self._first.setdefault(job, now)
        self._waiting[job] = now
        self._jobs[job] = replace(self._jobs[job], status="running", attempts=number)
        self._progress.attempt_begins(job, number, engine, now)

    def attempt_runs(self, job: str, engine: str) -> None:
        """The job was sent to its engine."""
        self._stop_waiting(job, time.time())
        self._tell("job-started", job, {}, engine)

    def note(self, job: str, note: Note, engine: str) -> None:
        """The engine reports something about a running job."""
        self._tell("job-note", job, {**note.data, "event": note.event}, engine)

    def retrying(self, job: str, failure: Failed | EngineLost, pause: float) -> None:
        """An attempt failed and there will be another one."""
        error = self._error(job, failure)
        self._stop_waiting(job, time.time())
        self._progress.attempt_fails(job, self.attempts(job), asdict(error), time.time())
        self._tell("job-retrying", job, {"error": asdict(error), "pause": pause})

    def succeeded(self, job: str, done: Done) -> None:
        """A job has written all of its outputs."""
        at = self._end(job, status="succeeded", outputs=done.outputs, inputs=done.inputs)
        self._job_ends(job, at=at, written=done.outputs, read=done.inputs)
        self._tell("job-succeeded", job, _success(self._jobs[job]))

    def failed(self, job: str, failure: Failed | EngineLost) -> None:
        """A job failed and will not be tried again."""
        error = self._error(job, failure)
        at = self._end(job, status="failed", error=error)
        self._job_ends(job, at=at, error=asdict(error))
        self._tell("job-failed", job, {"error": asdict(error), "seconds": self._jobs[job].seconds})

    def skipped(self, job: str, because: str) -> None:
        """A job will not run, because another one that it needs did not succeed."""
        at = self._end(job, status="skipped")
        self._job_ends(job, at=at)
        self._tell("job-skipped", job, {"because": because})

    def cancelled(self, jobs: Iterable[str]) -> None:
        """Jobs were cancelled, some of them before they ran."""
        for job in jobs:
            at = self._end(job, status="cancelled")
            self._job_ends(job, at=at)
            self._tell("job-cancelled", job, {})

    def finish(self) -> None:
        """Every job has ended; their statuses decide the status of the run."""
        status = _outcome(self._jobs.values())
        self._status, self._ended = status, time.time()
        self._progress.finish(status, self._ended)
        self._hub.emit("run-finished", data={"status": status, "seconds": self._ended - self._began})

    def result(self) -> Run:
        """The result of the run so far."""
        seconds = (self._ended or time.time()) - self._began
        plan = self._facts.plan
        chosen = (plan.choices.environment, plan.choices.variables, plan.choices.left_out)
        return Run(self._facts.run_id, plan.workflow, self._status, seconds, tuple(self._jobs.values()), *chosen)

    def _warn(self, job: str, message: str) -> None:
        self._tell("job-note", job, {"event": "warning", "message": message})

    def _end(self, job: str, **changes: Any) -> float:
        now = time.time()
        self._stop_waiting(job, now)
        waited = self._waited.get(job, 0.0)
        seconds = now - self._first.get(job, now) - waited
        self._jobs[job] = replace(self._jobs[job], seconds=seconds, engine_seconds=waited, **changes)
        return now

    def _stop_waiting(self, job: str, now: float) -> None:
        """Count how long an attempt has waited for its engine, whether it was sent there or not."""
        self._waited[job] = self._waited.get(job, 0.0) + now - self._waiting.pop(job, now)

    def _job_ends(self, job: str, **results: Any) -> None:
        """Record the end of a job."""
        now = self._jobs[job]
        self._progress.job_ends(job, now.attempts, now.status, engine_seconds=now.engine_seconds, **results)

    def _error(self, job: str, failure: Failed | EngineLost) -> ErrorReport:
        known = report(failure)
        hint = known.hint or f"`catchment logs {self._facts.run_id} --job {job}` shows what it did"
        return ErrorReport(**self._redactor.data({**asdict(known), "hint": hint}))

    def _tell(self, kind: EventKind, job: str, data: Mapping[str, Any], engine: str | None = None) -> None:
        self._hub.emit(kind, job=job, attempt=self._jobs[job].attempts or None, engine=engine, data=dict(data))


def _queued(job: JobPlan, earlier: JobResult | None) -> JobResult:
    if earlier is None:
        return JobResult(job.name, "queued", 0, 0.0, None, ())
    if earlier.status == "succeeded":
        return replace(earlier, kept=True)
    return JobResult(job.name, "queued", earlier.attempts, 0.0, None, ())


def _outcome(jobs: Iterable[JobResult]) -> RunStatus:
    statuses = {job.status for job in jobs}
    if "cancelled" in statuses:
        return "cancelled"
    return "succeeded" if statuses <= {"succeeded"} else "failed"


def _success(job: JobResult) -> dict[str, Any]:
    outputs, inputs = map(asdict, job.outputs), map(asdict, job.inputs)
    return {
        "seconds": job.seconds,
        "engine_seconds": job.engine_seconds,
        "kept": job.kept,
        "outputs": list(outputs),
        "inputs": list(inputs),
    }


def report(failure: Failed | EngineLost) -> ErrorReport:
    """A failure as results and events show it, before redaction."""
    where = failure.where
    place = (where.file, where.line, where.column) if where else (None, None, None)
    return ErrorReport(failure.code, failure.message, failure.hint, *place)
