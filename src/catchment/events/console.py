"""Prints the progress of a run on stderr: live rows on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TextIO

from catchment.events.hub import Event, EventKind, Sink
from catchment.events.job_progress import StageProgress, progressed
from catchment.events.messages import batch_words, sentence

SILENT_SECONDS = 60.0
"""If nothing was printed about a job for this long, its progress is printed."""


class PlainLines:
    """A sink that prints lines such as `[1/2] vendor-one: started`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rows = JobRows()
        self._spoke: dict[str | None, datetime] = {}

    def emit(self, event: Event) -> None:
        """Print the event if it has a message."""
        self._rows.apply(event)
        message = sentence(event) or self._progress(event)
        if message is not None:
            self._spoke[event.job] = event.at
            print(self._subject(event) + message, file=self._stream, flush=True)

    def _progress(self, event: Event) -> str | None:
        """The progress of a job, if nothing was printed about it for a while."""
        row = self._rows.jobs.get(event.job or "")
        if row is None or row.progress is None or not event.is_progress:
            return None
        silent = (event.at - self._spoke.get(event.job, event.at)).total_seconds()
        return row.progress.words() if silent >= SILENT_SECONDS else None

    def close(self) -> None:
        """Nothing to close: the stream belongs to the caller."""

    def _subject(self, event: Event) -> str:
        row = self._rows.jobs.get(event.job or "")
        if row is None:
            return ""
        total = len(self._rows.jobs)
        return f"[{row.number:>{len(str(total))}}/{total}] {row.name}: "


class Console:
    """A sink that prints events for people, in the form that suits the stream."""

    def __init__(self, stream: TextIO | None = None, *, live: bool | None = None) -> None:
        stream = stream or sys.stderr
        self._sink = _live_rows(stream) if (stream.isatty() if live is None else live) else PlainLines(stream)

    def emit(self, event: Event) -> None:
        """Show the event."""
        self._sink.emit(event)

    def close(self) -> None:
        """Restore the terminal."""
        self._sink.close()


def _live_rows(stream: TextIO) -> Sink:
    from rich.console import Console as RichConsole

    from catchment.events.live import LiveRows

    return LiveRows(RichConsole(file=stream, highlight=False))


RowStatus = Literal["queued", "running", "retrying", "kept", "succeeded", "failed", "skipped", "cancelled"]

_STATUS: Mapping[EventKind, RowStatus] = {
    "job-started": "running",
    "job-retrying": "retrying",
    "job-succeeded": "succeeded",
    "job-failed": "failed",
    "job-skipped": "skipped",
    "job-cancelled": "cancelled",
}
OVER: frozenset[RowStatus] = frozenset({"kept", "succeeded", "failed", "skipped", "cancelled"})


@dataclass(frozen=True)
class JobRow:
    """The progress of one job."""

    name: str
    number: int
    """Its number among the jobs of the run, from 1."""
    status: RowStatus = "queued"
    attempt: int = 0
    since: datetime | None = None
    until: datetime | None = None
    doing: str = ""
    progress: StageProgress | None = None
    """The progress of the running Spark stages."""
    rows_written: int | None = None

    def seconds(self, now: datetime) -> float | None:
        """How long the job has taken so far; None before it began."""
        return ((self.until or now) - self.since).total_seconds() if self.since else None


@dataclass
class JobRows:
    """The progress of all jobs of a run, updated by events."""

    jobs: dict[str, JobRow] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Update the row of the event's job."""
        if event.kind == "run-started":
            self.jobs = {name: JobRow(name, number) for number, name in enumerate(event.data["jobs"], 1)}
        elif event.job in self.jobs:
            self.jobs[event.job] = _after(self.jobs[event.job], event)


def _after(row: JobRow, event: Event) -> JobRow:
    if event.kind == "job-note":
        return _noted(row, event.data, event.at)
    status: RowStatus = "kept" if event.data.get("kept") else _STATUS[event.kind]
    return replace(
        row,
        status=status,
        attempt=event.attempt or row.attempt,
        since=row.since or (event.at if status == "running" else None),
        until=event.at if status in OVER else None,
        doing="",
        progress=None,
        rows_written=_total(event.data.get("outputs", ())),
    )


def _noted(row: JobRow, data: Mapping[str, Any], at: datetime) -> JobRow:
    what, name = data.get("event"), data.get("name", "")
    if what == "progress":
        return replace(row, progress=progressed(row.progress, data, at))
    if what == "output":
        return replace(row, rows_written=_total([data, {"rows": row.rows_written}]), doing="", progress=None)
    if what in {"waiting-for-memory", "admitted"}:
        return replace(row, doing="waiting for memory" if what == "waiting-for-memory" else "")
    if what == "batch":
        return replace(row, doing=batch_words(data), progress=None)
    if what in {"input", "step", "writing"}:
        verb = {"input": "reading", "step": "step", "writing": "writing"}[what]
        return replace(row, doing=f"{verb} {name}".strip(), progress=None)
    return row


def _total(outputs: Iterable[Mapping[str, Any]]) -> int | None:
    counts = [output["rows"] for output in outputs if output.get("rows") is not None]
    return sum(counts) if counts else None
