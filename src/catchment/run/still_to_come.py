"""Which writes of a run are still to come to a table: bookkeeping over the plan, without engines, clock or store."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from catchment.plan.graph import Graph
from catchment.plan.model import JobPlan


@dataclass(frozen=True)
class PlannedWrite:
    """One output of one job."""

    job: str
    output: str
    target: str
    """The table, as the ledger names it."""


class StillToCome:
    """The sealed writes that wait for others of the run, and the writes that they wait for."""

    def __init__(self, jobs: Collection[JobPlan], unfinished: Iterable[str]) -> None:
        self._writes = {job.name: tuple(_planned(job)) for job in jobs}
        self._graph = Graph({job.name: job.depends_on for job in jobs})
        self._coming = {write for name in unfinished for write in self._writes[name]}
        self._waiting: dict[tuple[str, str], PlannedWrite] = {}

    def sealed(self, job: str, output: str) -> None:
        """A write is sealed and waits for the others."""
        write = next(each for each in self._writes[job] if each.output == output)
        self._coming.discard(write)
        self._waiting[job, output] = write

    def repeat(self, job: str) -> None:
        """An attempt of the job failed: unless the job has ended, its writes come again."""
        self._leave(job)
        self._coming.update(self._writes[job])

    def end(self, jobs: Iterable[str]) -> None:
        """The jobs have ended, whichever way: nothing more comes from them."""
        for job in jobs:
            self._leave(job)
            self._coming.difference_update(self._writes[job])

    def release(self, running: Collection[str]) -> list[tuple[str, str]]:
        """Job and output of the writes that need not wait any longer, each once.

        Those of `running` are the only jobs that can move on. If all of them wait, nobody comes as long as they do.
        """
        released = [key for key, write in self._waiting.items() if not self._is_awaiting(write)]
        if not released and {job for job, _ in self._waiting} >= set(running):
            released = list(self._waiting)
        for key in released:
            del self._waiting[key]
        return released

    def _leave(self, job: str) -> None:
        self._waiting = {key: write for key, write in self._waiting.items() if write.job != job}

    def _is_awaiting(self, write: PlannedWrite) -> bool:
        """Whether another job is to come that does not itself wait for the end of this one."""
        return any(
            other.target == write.target and other.job != write.job and not self._graph.needs(other.job, write.job)
            for other in self._coming
        )


def _planned(job: JobPlan) -> Iterable[PlannedWrite]:
    """The writes of a job that wait for others, and so the ones that others wait for."""
    return (PlannedWrite(job.name, each.name, each.dataset.target) for each in job.outputs if each.linger)
