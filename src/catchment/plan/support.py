"""What a workflow may say and Catchment does not run yet."""

from __future__ import annotations

from collections.abc import Iterator

from catchment.errors import Diagnostic
from catchment.spec.model import Job, Workflow


def refusals(workflow: Workflow) -> tuple[Diagnostic, ...]:
    """Why a valid workflow cannot be run; `validate` only warns of the same things."""
    return tuple(refusal for job in workflow.jobs for refusal in _of_job(job))


def _of_job(job: Job) -> Iterator[Diagnostic]:
    if job.toolbox is not None:
        message = f"not supported yet: the toolbox stack (job `{job.name}`)"
        yield Diagnostic("unsupported-toolbox", message, job.toolbox.where, "remove the job to run the others")
    for source in job.inputs:
        if source.incremental is not None:
            message = f"not supported yet: incremental reads (input `{source.name}` of job `{job.name}`)"
            hint = "remove `incremental` to read the whole dataset"
            yield Diagnostic("unsupported-incremental", message, source.incremental.where, hint)
