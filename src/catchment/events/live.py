"""Shows live rows on a terminal: one per job, with status, attempt, time, Spark's progress and rows written."""

from __future__ import annotations

from datetime import datetime, timezone

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from catchment.events.console import OVER, JobRow, JobRows, RowStatus
from catchment.events.hub import Event
from catchment.events.messages import seconds, sentence

MARKS: dict[RowStatus, tuple[str, str]] = {
    "queued": ("·", "dim"),
    "running": ("", "cyan"),
    "retrying": ("↻", "yellow"),
    "kept": ("✓", "dim"),
    "succeeded": ("✓", "green"),
    "failed": ("✗", "red"),
    "skipped": ("-", "yellow"),
    "cancelled": ("■", "yellow"),
}
BAR = 20
"""The width of a bar."""
LOUD = {"job-failed", "job-retrying", "job-note", "engine-lost", "engine-preparing", "run-started", "run-finished"}


class LiveRows:
    """A sink that redraws the rows a few times a second and prints important messages above them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._rows = JobRows()
        self._spinner = Spinner("dots", style="cyan")
        self._live = Live(self, console=console, refresh_per_second=5, vertical_overflow="ellipsis")

    def emit(self, event: Event) -> None:
        """Update the rows, and print the event above them if it is important."""
        if event.kind == "run-started":
            self._live.start()
        self._rows.apply(event)
        message = sentence(event)
        if message and event.kind in LOUD:
            self._live.console.print(self._above(event, message))

    def close(self) -> None:
        """Draw the final state and leave it on the terminal."""
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """If not all jobs fit, show unfinished ones first."""
        rows = list(self._rows.jobs.values())
        room = max(options.max_height - 2, 1) if self._live.is_started else len(rows)
        shown = rows if len(rows) <= room else sorted(rows, key=_importance)[:room]
        now = datetime.now(timezone.utc)
        table = Table.grid(padding=(0, 2))
        for row in sorted(shown, key=lambda row: row.number):
            table.add_row(self._mark(row), *_cells(row, now))
        yield table
        if len(shown) < len(rows):
            done = sum(row.status in OVER for row in rows)
            yield Text(f"… {len(rows)} jobs, {done} done", style="dim")

    def _mark(self, row: JobRow) -> Text | Spinner:
        mark, style = MARKS[row.status]
        return Text(mark, style=style) if mark else self._spinner

    def _above(self, event: Event, message: str) -> Text:
        style = "red" if event.kind in {"job-failed", "engine-lost"} else ""
        return Text(f"{event.job}: {message}" if event.job else message, style=style)


def _importance(row: JobRow) -> tuple[int, int]:
    order: tuple[RowStatus, ...] = (
        "failed",
        "running",
        "retrying",
        "queued",
        "cancelled",
        "skipped",
        "succeeded",
        "kept",
    )
    return order.index(row.status), row.number


def _cells(row: JobRow, now: datetime) -> tuple[Text | ProgressBar, ...]:
    taken = row.seconds(now)
    return (
        Text(row.name, no_wrap=True),
        Text(row.status, style=MARKS[row.status][1]),
        Text(f"attempt {row.attempt}" if row.attempt > 1 else ""),
        Text("" if taken is None else seconds(taken), justify="right"),
        _bar(row),
        Text(_progress(row, now), no_wrap=True, overflow="ellipsis"),
    )


def _bar(row: JobRow) -> Text | ProgressBar:
    """How many tasks of the running stages are done."""
    progress = row.progress
    return ProgressBar(progress.total, progress.done, width=BAR) if progress and progress.total else Text("")


def _progress(row: JobRow, now: datetime) -> str:
    parts = [row.doing]
    if row.progress:
        parts.append(row.progress.words())
        left = row.progress.seconds_left(now)
        parts.append("" if left is None else f"about {seconds(left)} left in this stage")
    if row.rows_written is not None:
        parts.append(f"{row.rows_written:,} rows")
    return " · ".join(part for part in parts if part)
