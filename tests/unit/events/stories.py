"""Events as a run would tell them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from catchment.events.hub import Event, EventKind

NOON = datetime(2024, 5, 1, 12, 0, tzinfo=timezone.utc)
ERROR: dict[str, Any] = {
    "code": "column-not-found",
    "message": "there is no column [vendr_id]",
    "hint": "did you mean vendor_id?",
    "file": "taxi.yaml",
    "line": 23,
    "column": 11,
}
OUTPUT: dict[str, Any] = {"name": "out", "dataset": "dataos://lake:raw/t", "rows": 1234567, "files": 3}


def event(kind: EventKind, job: str | None = None, after: float = 0.0, **data: Any) -> Event:
    """One event, some seconds after noon."""
    attempt = data.pop("attempt", 1) if job else None
    engine = data.pop("engine", None)
    return Event(NOON + timedelta(seconds=after), "20240501-120000-abcdef", kind, job, attempt, engine, data)


def story() -> list[Event]:
    """Two jobs: one succeeds at its second attempt, the other fails."""
    return [
        event("run-started", workflow="taxi", file="taxi.yaml", jobs=["one", "two"], resumed=False),
        event("engine-starting", engine="default", spark="4.1", master="local[*]"),
        event("engine-preparing", engine="default", message="downloading 3 packages"),
        event("engine-ready", engine="default", spark="4.1.2", seconds=0.9),
        event("job-started", "one", 1.0),
        event("job-started", "two", 1.0),
        event("job-note", "one", 1.5, event="warning", message="no acl"),
        event("job-note", "one", 2.0, event="progress", done=3, total=8),
        event("job-retrying", "one", 3.0, error={**ERROR, "file": None}, pause=2.0),
        event("job-started", "one", 5.0, attempt=2),
        event("job-failed", "two", 6.0, error=ERROR, seconds=5.0),
        event("job-succeeded", "one", 66.0, attempt=2, seconds=65.0, outputs=[OUTPUT]),
        event("engine-stopped", engine="default"),
        event("run-finished", after=67.0, status="failed", seconds=67.0),
    ]
