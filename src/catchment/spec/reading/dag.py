"""Links the jobs of a workflow file and of the files it includes into one flat list with unique names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from catchment.errors import Position
from catchment.spec.findings import Findings
from catchment.spec.model import Job
from catchment.spec.validation import did_you_mean

Dependency = tuple[str, Position]

WITH_SUGGESTION = 20
"""How many unknown names get a suggestion; in a file with thousands, the comparisons would take too long."""


@dataclass(frozen=True)
class DagItem:
    """One node of the file: a job, or the jobs of an included workflow."""

    name: str
    name_where: Position
    dependencies: tuple[Dependency, ...]
    jobs: tuple[Job, ...]
    """Empty if nothing could be read; more than one only for an included workflow."""

    def roots(self) -> set[str]:
        """The jobs that depend on no other job of this item."""
        names = {job.name for job in self.jobs}
        return {job.name for job in self.jobs if not names & {name for name, _ in job.dependencies}}

    def leaves(self) -> list[str]:
        """The jobs that no other job of this item depends on."""
        awaited = {name for job in self.jobs for name, _ in job.dependencies}
        return [job.name for job in self.jobs if job.name not in awaited]


def link(dag: Sequence[DagItem], findings: Findings) -> tuple[Job, ...]:
    """All jobs, with dependencies on nodes replaced by dependencies on jobs."""
    _check_unique(dag, findings)
    targets = {job.name: [job.name] for item in dag for job in item.jobs}
    targets.update({item.name: item.leaves() for item in dag})
    suggestions = iter(range(WITH_SUGGESTION))
    return tuple(job for item in dag for job in _linked(item, targets, suggestions, findings))


def _linked(
    item: DagItem, targets: dict[str, list[str]], suggestions: Iterator[int], findings: Findings
) -> Iterator[Job]:
    known = [entry for entry in item.dependencies if _is_known(entry, item, targets, suggestions, findings)]
    outer = [(name, where) for target, where in known for name in targets[target]]
    roots = item.roots()
    for job in item.jobs:
        own = [*job.dependencies, *(outer if job.name in roots else ())]
        yield replace(job, dependencies=tuple(_first_of_each(own)))


def _is_known(
    entry: Dependency,
    item: DagItem,
    targets: dict[str, list[str]],
    suggestions: Iterator[int],
    findings: Findings,
) -> bool:
    name, where = entry
    if name == item.name:
        findings.error("self-dependency", f"job `{name}` depends on itself", where, "remove the dependency")
    elif name not in targets:
        similar = did_you_mean(name, targets) if next(suggestions, None) is not None else None
        hint = similar or f"jobs are {_some(targets)}"
        findings.error("unknown-dependency", f"no job is named `{name}`", where, hint)
    return name != item.name and name in targets


def _some(names: Iterable[str]) -> str:
    first = list(islice(names, 11))
    return ", ".join(first if len(first) < 11 else [*first[:10], "…"])


def _first_of_each(dependencies: Iterable[Dependency]) -> Iterator[Dependency]:
    seen: set[str] = set()
    for name, where in dependencies:
        if name not in seen:
            yield name, where
        seen.add(name)


def _check_unique(dag: Sequence[DagItem], findings: Findings) -> None:
    seen: dict[str, Position] = {}
    for item in dag:
        inner = [job.name for job in item.jobs if job.name != item.name]
        for name in (item.name, *inner):
            if name in seen:
                message = f"job `{name}` is given twice; the first is at {seen[name]}"
                findings.error("duplicate-job", message, item.name_where, "give one of them another name")
            seen.setdefault(name, item.name_where)
