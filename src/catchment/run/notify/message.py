"""What a hook is told: one JSON object, with a sentence for people in `text`."""

from __future__ import annotations

import socket
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

from catchment.errors import CatchmentError
from catchment.project.model import Project
from catchment.run.results import ErrorReport, Run


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Message:
    """One notification. The order of the fields is their order in the JSON that a hook gets."""

    event: str
    """What happened: an event of hooks, or `run-finished` for `--notify`."""
    text: str
    """The same in words."""
    project: str
    """The directory of the project."""
    environment: str | None = None
    workflow: str | None = None
    run_id: str | None = None
    service: str | None = None
    status: str | None = None
    seconds: float | None = None
    errors: tuple[dict[str, Any], ...] = ()
    """Of the jobs that failed: the job, and code, message and hint of its error."""
    next: str | None = None
    """The command that goes on."""
    host: str = field(default_factory=socket.gethostname)
    at: str = field(default_factory=_now)


def about_run(event: str, run: Run, project: Project, text: str | None = None) -> Message:
    """A message about a run."""
    failed = tuple({"job": job.name, **_error(job.error)} for job in run.jobs if job.error)
    why = f": {failed[0]['job']}: {failed[0]['message']}" if failed else ""
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    place = f" in {project.environment}" if project.environment else ""
    env = f" --env {project.environment}" if project.environment else ""
    return Message(
        event,
        text or f"run {run.run_id} of {run.workflow}{place} {run.status} after {run.seconds:.0f} s{why}{more}",
        str(project.root),
        project.environment,
        run.workflow,
        run.run_id,
        status=run.status,
        seconds=round(run.seconds, 3),
        errors=failed,
        next=None if run.status == "succeeded" else f"catchment resume {run.run_id}{env}",
    )


def about_beginning(run_id: str, workflow: str | None, error: CatchmentError, project: Project) -> Message:
    """A message about a run that has not even begun, or not gone on."""
    place = f" in {project.environment}" if project.environment else ""
    of = f" of {workflow}" if workflow else ""
    return Message(
        "run-failed",
        f"run {run_id}{of}{place} did not begin: {error.message}",
        str(project.root),
        project.environment,
        workflow,
        run_id,
        status="failed",
        errors=({"job": None, **_error(ErrorReport.of(error))},),
    )


def about_service(name: str, status: str, error: str | None, root: str, environment: str | None) -> Message:
    """A message about a service that has ended and was not asked to."""
    place = f" in {environment}" if environment else ""
    env = f" --env {environment}" if environment else ""
    why = f": {error}" if error else ""
    return Message(
        "service-dead",
        f"service {name}{place} is {status}{why}",
        root,
        environment,
        service=name,
        status=status,
        errors=({"code": None, "message": error, "hint": None},) if error else (),
        next=f"catchment services restart {name}{env}",
    )


def _error(error: ErrorReport) -> dict[str, Any]:
    return {key: asdict(error)[key] for key in ("code", "message", "hint")}
