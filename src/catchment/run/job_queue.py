"""Which jobs may run now: bookkeeping over the DAG, without engines, clock or store."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Mapping, Sequence
from graphlib import TopologicalSorter

Dependencies = Mapping[str, Sequence[str]]


class JobQueue:
    """The unfinished jobs of a run. A job is taken, and then succeeds, fails, or is given back."""

    def __init__(self, dependencies: Dependencies, kept: Collection[str] = ()) -> None:
        """`dependencies` are in the order in which ready jobs are taken; `kept` jobs have already succeeded."""
        graph = {
            job: [needed for needed in needs if needed not in kept]
            for job, needs in dependencies.items()
            if job not in kept
        }
        self._rank = {job: rank for rank, job in enumerate(graph)}
        self._dependants = _dependants(graph)
        self._left = set(graph)
        self._ready: list[str] = []
        self._sorter = TopologicalSorter(graph)
        self._sorter.prepare()
        self._release()

    def __bool__(self) -> bool:
        """Whether any job is unfinished."""
        return bool(self._left)

    @property
    def left(self) -> Sequence[str]:
        """Every unfinished job, including taken ones, in plan order."""
        return sorted(self._left, key=self._rank.__getitem__)

    @property
    def ready(self) -> Sequence[str]:
        """The jobs that may be taken now, in plan order."""
        return tuple(self._ready)

    def take(self) -> str | None:
        """The next job to run; None if no job is ready."""
        return self._ready.pop(0) if self._ready else None

    def give_back(self, job: str) -> None:
        """Make a taken job ready again, for another attempt."""
        insort(self._ready, job, key=self._rank.__getitem__)

    def succeed(self, job: str) -> None:
        """Mark a taken job as done; jobs that waited only for it become ready."""
        self._left.discard(job)
        self._sorter.done(job)
        self._release()

    def fail(self, job: str) -> list[str]:
        """Mark a taken job as failed; all its direct and indirect dependants leave the queue and are returned."""
        self._left.discard(job)
        lost: set[str] = set()
        front = [job]
        while front:
            behind = [dependant for dependant in self._dependants[front.pop()] if dependant in self._left]
            self._left.difference_update(behind)
            lost.update(behind)
            front.extend(behind)
        return sorted(lost, key=self._rank.__getitem__)

    def abandon(self, job: str) -> None:
        """Remove a job that will not run, for a reason other than a failed dependency."""
        self._left.discard(job)
        if job in self._ready:
            self._ready.remove(job)

    def _release(self) -> None:
        # A job that was abandoned meanwhile must not become ready.
        for job in self._left.intersection(self._sorter.get_ready()):
            insort(self._ready, job, key=self._rank.__getitem__)


def _dependants(graph: Dependencies) -> dict[str, list[str]]:
    dependants: dict[str, list[str]] = {job: [] for job in graph}
    for job, needs in graph.items():
        for needed in needs:
            dependants[needed].append(job)
    return dependants
