"""What a workflow may say and Catchment does not run yet: `validate` warns of it, whoever would run it is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from catchment.errors import Diagnostic, Severity
from catchment.spec.model import Job, Workflow

TOOLBOX = "unsupported-toolbox"


def refusals(workflow: Workflow) -> tuple[Diagnostic, ...]:
    """Why a valid workflow cannot be run."""
    return tuple(refusal for job in workflow.jobs for refusal in _of_job(job))


def as_errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics of a file that shall run: what does not run yet is no mere warning."""
    return tuple(replace(each, severity=Severity.ERROR) if each.code == TOOLBOX else each for each in diagnostics)


def _of_job(job: Job) -> Iterator[Diagnostic]:
    if job.toolbox is not None:
        message = f"not supported yet: the toolbox stack (job `{job.name}`)"
        yield Diagnostic(TOOLBOX, message, job.toolbox.where, "remove the job to run the others")
