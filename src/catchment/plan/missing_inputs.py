"""Finds local inputs that do not exist, before Spark starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from catchment.errors import Diagnostic, InvalidFiles, Severity
from catchment.plan.datasets import same_place
from catchment.plan.model import Dataset, InputPlan, JobPlan, Plan
from catchment.project.depots import is_uri

_PATTERN = re.compile(r"[*?\[{]")
_HINT = "check the address, and where the depot's `location` points"


def warn_missing(plan: Plan) -> Iterator[Diagnostic]:
    """A warning for each input that does not exist now and that no other job of the workflow writes."""
    return (_told(source, Severity.WARNING) for _, source in _missing(plan))


def require_inputs(plan: Plan) -> None:
    """Raise if a job is certain to fail because an input is missing; a job with retries may wait for its input."""
    found = [_told(source, Severity.ERROR) for job, source in _missing(plan) if not job.retry.count]
    if found:
        raise InvalidFiles(found)


def _missing(plan: Plan) -> Iterator[tuple[JobPlan, InputPlan]]:
    local = {engine.key for engine in plan.engines if engine.engine.is_local}
    for job in plan.jobs:
        others = [each for each in plan.jobs if each is not job]
        if job.engine in local and not any(each.side_effects for each in others):
            missing = (source for source in job.inputs if _is_missing(source.dataset))
            yield from ((job, source) for source in missing if not _is_made(source.dataset, others))


def _is_missing(dataset: Dataset) -> bool:
    path = dataset.path
    if path is None or dataset.named or is_uri(path) or _PATTERN.search(path):
        return False
    try:
        return not Path(path).exists()
    except OSError:
        return False  # it may exist, and the user who runs the job may be allowed to read it


def _is_made(dataset: Dataset, jobs: list[JobPlan]) -> bool:
    return any(same_place(dataset, output.dataset) for job in jobs for output in job.writes)


def _told(source: InputPlan, severity: Severity) -> Diagnostic:
    message = f"input {source.name}: nothing is at {source.dataset.address} ({source.dataset.path})"
    return Diagnostic("input-not-found", message, source.where, _HINT, severity)
