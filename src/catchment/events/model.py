"""One stream of events: what happened in a run, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

EventKind = Literal[
    "run-started",
    "run-finished",
    "engine-starting",
    "engine-preparing",
    "engine-ready",
    "engine-lost",
    "engine-stopped",
    "job-started",
    "job-note",
    "job-retrying",
    "job-succeeded",
    "job-failed",
    "job-skipped",
    "job-cancelled",
]


@dataclass(frozen=True)
class Event:
    at: datetime
    """UTC."""
    run_id: str
    kind: EventKind
    job: str | None = None
    attempt: int | None = None
    engine: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


class Sink(Protocol):
    """Takes every event of a run; must not raise, must not block for long."""

    def emit(self, event: Event) -> None: ...

    def close(self) -> None: ...
