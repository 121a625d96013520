"""Runs and ticks as the metastore records them. Times are seconds since 1970, UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from catchment.process_identity import ProcessIdentity
from catchment.run_model import Choices, InputResult, OutputResult, RunRequest


@dataclass(frozen=True)
class RunRecord:
    id: str
    workflow: str
    file: str
    status: str
    """A run that is recorded as `running`, but whose lease has expired, is `dead`."""
    request: RunRequest
    started: float
    resumed: float | None
    """When the run was last resumed."""
    ended: float
    """When it finished; for a dead run when its lease expired, for a running one now."""
    jobs: int
    succeeded: int
    choices: Choices = field(default_factory=Choices)
    """Which part of the workflow is run, and with which values."""
    process: ProcessIdentity | None = None
    """The process that executes it, or executed it last."""


@dataclass(frozen=True)
class JobRecord:
    name: str
    status: str
    attempts: int
    started: float | None
    finished: float | None
    error: Mapping[str, Any] | None
    outputs: tuple[OutputResult, ...] = ()
    inputs: tuple[InputResult, ...] = ()
    engine_seconds: float = 0.0
    """How long it waited for its engine to start."""


@dataclass(frozen=True)
class AttemptRecord:
    job: str
    number: int
    engine: str
    status: str
    started: float
    finished: float | None
    error: Mapping[str, Any] | None


@dataclass(frozen=True)
class EventRecord:
    at: float
    kind: str
    job: str | None
    attempt: int | None
    engine: str | None
    data: Mapping[str, Any]


@dataclass(frozen=True)
class TickRecord:
    """One tick and what became of it so far."""

    workflow: str
    tick: float
    owner: str
    run_id: str | None
    tries: int
    """How often the run was started or resumed."""
    status: str
    """`claimed` before it has a run; `dead` if the lease of its run has expired."""
    asked: str | None
    """Why its run was asked to stop."""
    reason: str | None
    error: Mapping[str, Any] | None
    owner_alive: bool
    run_alive: bool
    seconds: float

    @property
    def settled(self) -> bool:
        """Whether a scheduler has nothing more to do for it."""
        return self.status not in ("claimed", "running", "dead")

    @property
    def key(self) -> tuple[str, float]:
        return self.workflow, self.tick
