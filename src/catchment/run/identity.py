"""What identifies a run: its id, its plan, what it was asked for, and where its logs are."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from catchment.project.model import Project
from catchment.run.results import JobResult
from catchment.run_model import RunRequest

if TYPE_CHECKING:
    from catchment.plan.model import Plan


def owner() -> str:
    """A readable and unique name for the holder of a lease."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def log_directory(project: Project, run_id: str) -> Path:
    """The directory of a run's logs and events."""
    return project.home / "runs" / run_id


@dataclass(frozen=True)
class RunFacts:
    """The identity of a run, what it was asked for, and its results before it was resumed."""

    run_id: str
    plan: Plan
    request: RunRequest
    resumed: bool = False
    earlier: tuple[JobResult, ...] = ()
    """The earlier results of a resumed run's jobs. Jobs that succeeded are kept; attempts continue to count."""

    @property
    def kept(self) -> frozenset[str]:
        """Jobs that succeeded before and are not run again."""
        return frozenset(job.name for job in self.earlier if job.status == "succeeded")

    def changed_outputs(self) -> list[str]:
        """Jobs that succeeded before and whose outputs are different in the workflow now."""
        written = {job.name: {(o.name, o.dataset) for o in job.outputs} for job in self.earlier}
        return [job.name for job in self.plan.jobs if job.name in self.kept and written[job.name] != set(job.reported)]
