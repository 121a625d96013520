"""What a run is from its first moment, whoever executes it."""

from __future__ import annotations

from dataclasses import dataclass

from catchment.plan.model import Plan
from catchment.run.model import JobResult
from catchment.run_model import RunRequest


@dataclass(frozen=True)
class RunFacts:
    """The identity of a run, what it shall do, and what it had done before it was resumed."""

    run_id: str
    plan: Plan
    request: RunRequest
    resumed: bool = False
    earlier: tuple[JobResult, ...] = ()
    """What the jobs of a resumed run had come to. Those that succeeded are kept, attempts count on."""

    @property
    def kept(self) -> frozenset[str]:
        """Jobs that succeeded before and are not run again."""
        return frozenset(job.name for job in self.earlier if job.status == "succeeded")

    def changed_outputs(self) -> list[str]:
        """Kept jobs whose outputs the workflow now declares differently."""
        written = {job.name: {(o.name, o.dataset) for o in job.outputs} for job in self.earlier}
        return [job.name for job in self.plan.jobs if job.name in self.kept and written[job.name] != set(job.reported)]
