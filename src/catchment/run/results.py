"""The results of runs: plain values, printed as JSON by `catchment run` and returned by the Python API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from catchment.errors import CatchmentError, JobError, Position
from catchment.run_model import InputResult, OutputResult

JobStatus = Literal["succeeded", "failed", "skipped", "cancelled", "queued", "running"]
RunStatus = Literal["succeeded", "failed", "cancelled", "running", "dead"]


class RunFailed(JobError):
    """A run did not succeed."""

    code = "run-failed"


@dataclass(frozen=True)
class ErrorReport:
    code: str
    message: str
    hint: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None

    @classmethod
    def of(cls, error: CatchmentError) -> ErrorReport:
        """An error as reports show it."""
        where = error.where
        place = (where.file, where.line, where.column) if where else (None, None, None)
        return cls(error.code, error.message, error.hint, *place)

    @property
    def where(self) -> Position | None:
        """The position in the workflow, if it is known."""
        known = self.file is not None and self.line is not None and self.column is not None
        return Position(str(self.file), int(self.line or 0), int(self.column or 0)) if known else None


@dataclass(frozen=True)
class JobResult:
    name: str
    status: JobStatus
    attempts: int
    seconds: float
    error: ErrorReport | None
    outputs: tuple[OutputResult, ...]
    inputs: tuple[InputResult, ...] = ()
    engine_seconds: float = 0.0
    """How long the job waited for its engine to start; not part of `seconds`."""
    kept: bool = False
    """Whether the job succeeded before the run was resumed, and was not run again."""


@dataclass(frozen=True)
class Run:
    run_id: str
    workflow: str
    status: RunStatus
    seconds: float
    jobs: tuple[JobResult, ...]
    environment: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    """The values of all variables."""
    left_out: tuple[str, ...] = ()
    """Jobs of the workflow that were not selected."""

    def require_success(self) -> Run:
        """The run itself; raises RunFailed, which names the jobs and their errors, if it did not succeed."""
        if self.status == "succeeded":
            return self
        failed = "; ".join(f"{job.name}: {job.error.message} [{job.error.code}]" for job in self.jobs if job.error)
        first = next((job.error for job in self.jobs if job.error), None)
        raise RunFailed(
            f"run {self.run_id} of {self.workflow}: {self.status}" + (f": {failed}" if failed else ""),
            hint=f"to go on: project.resume({self.run_id!r})",
            where=first.where if first else None,
        )


@dataclass(frozen=True)
class RunSummary:
    """One line in the list of runs."""

    run_id: str
    workflow: str
    file: str
    status: RunStatus
    started: datetime
    """UTC."""
    seconds: float
    jobs: int
    succeeded: int
    environment: str | None = None
