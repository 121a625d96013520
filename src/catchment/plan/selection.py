"""Cuts a workflow down to the jobs that a run selects.

| written | selects |
|---|---|
| `JOB` | the job of this name, or all jobs of the file that a node of this name includes |
| `+JOB` | and every job that it needs |
| `JOB+` | and every job that needs it |
| `tag:NAME` | every job with this tag; `+` works as above |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from catchment.errors import Position, RequestError
from catchment.run_model import Choices
from catchment.spec.model import Job, Workflow
from catchment.spec.validation import did_you_mean

TAG = "tag:"


def cut(workflow: Workflow, choices: Choices) -> Workflow:
    """The workflow with only the selected jobs; raises RequestError if there are none.

    Jobs that are left out no longer decide whether a job runs, but they still decide the order: a job waits for every
    selected job that it needs, directly or through jobs that are left out.
    """
    if not choices.select and not choices.exclude:
        return workflow
    chosen = _matching(workflow, choices.select) if choices.select else {job.name for job in workflow.jobs}
    chosen -= _matching(workflow, choices.exclude)
    if not chosen:
        raise RequestError(
            "no job is left to run",
            code="nothing-selected",
            hint=f"the jobs of {workflow.name} are {', '.join(job.name for job in workflow.jobs)}",
        )
    needs = {job.name: job.dependencies for job in workflow.jobs}
    kept = (job for job in workflow.jobs if job.name in chosen)
    return replace(workflow, jobs=tuple(replace(job, dependencies=_nearest(job.name, needs, chosen)) for job in kept))


@dataclass(frozen=True)
class _Pattern:
    """One item of a selection."""

    text: str
    before: bool
    after: bool

    @classmethod
    def of(cls, written: str) -> _Pattern:
        text = written.strip()
        return cls(text.removeprefix("+").removesuffix("+"), text.startswith("+"), text.endswith("+"))

    def names(self, jobs: Sequence[Job]) -> set[str]:
        """The jobs that the pattern names, without those before and after them."""
        tag = self.text.removeprefix(TAG)
        if tag != self.text:
            return _known(tag, "tag", lambda job: job.tags, jobs)
        return _known(self.text, "job", lambda job: (job.name, *job.part_of), jobs)


def _known(wanted: str, kind: str, names_of: Callable[[Job], Iterable[str]], jobs: Sequence[Job]) -> set[str]:
    found = {job.name for job in jobs if wanted in names_of(job)}
    if not found:
        every = sorted({name for job in jobs for name in names_of(job)})
        listed = f"{kind}s are {', '.join(every)}" if every else f"no job has a {kind}"
        code = "unknown-tag" if kind == "tag" else "job-not-found"
        message = f"the workflow has no {kind} `{wanted}`"
        raise RequestError(message, code=code, hint=did_you_mean(wanted, every) or listed)
    return found


def _matching(workflow: Workflow, items: Iterable[str]) -> set[str]:
    needs = {job.name: {name for name, _ in job.dependencies} for job in workflow.jobs}
    needed_by: dict[str, set[str]] = {}
    for name, these in needs.items():
        for needed in these:
            needed_by.setdefault(needed, set()).add(name)
    found: set[str] = set()
    for pattern in map(_Pattern.of, items):
        named = pattern.names(workflow.jobs)
        found |= named
        found |= _reachable(named, needs) if pattern.before else set()
        found |= _reachable(named, needed_by) if pattern.after else set()
    return found


def _reachable(start: Iterable[str], steps: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    front = list(start)
    while front:
        new = set(steps.get(front.pop(), ())) - found
        found |= new
        front += new
    return found


def _nearest(
    name: str, needs: Mapping[str, tuple[tuple[str, Position], ...]], chosen: set[str]
) -> tuple[tuple[str, Position], ...]:
    """The chosen jobs that a job waits for, directly or through jobs that are left out."""
    found: dict[str, Position] = {}
    seen, front = {name}, list(needs[name])
    while front:
        other, where = front.pop(0)
        if other in chosen:
            found.setdefault(other, where)
        elif other not in seen:
            front += needs.get(other, ())
        seen.add(other)
    return tuple(found.items())
