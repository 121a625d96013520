"""What people see: plain numbered lines in a pipe, live rows on a terminal, errors as one paragraph."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest
from rich.console import Console as RichConsole

from catchment.events.console import Console, JobRows
from catchment.events.live import LiveRows
from catchment.events.messages import error_paragraph, seconds
from tests.unit.events.stories import ERROR, NOON, OUTPUT, event, story

PLAIN = """\
taxi: run 20240501-120000-abcdef started, 2 jobs
engine default: starting Spark 4.1
engine default: downloading 3 packages
engine default: ready after 0.9 s
[1/2] one: started
[2/2] two: started
[1/2] one: warning: no acl
[1/2] one: attempt 1 failed, next one in 2.0 s: error[column-not-found]: there is no column [vendr_id]
    hint: did you mean vendor_id?
[1/2] one: started, attempt 2
[2/2] two: failed after 5.0 s: error[column-not-found]: there is no column [vendr_id]
    at taxi.yaml:23:11
    hint: did you mean vendor_id?
[1/2] one: succeeded in 1 min 05 s: dataos://lake:raw/t (1,234,567 rows, 3 files)
run 20240501-120000-abcdef failed in 1 min 07 s
"""


def test_a_pipe_gets_plain_numbered_lines() -> None:
    stream = io.StringIO()
    console = Console(stream)
    for each in story():
        console.emit(each)
    console.close()
    assert stream.getvalue() == PLAIN


def test_bad_rows_are_told_unless_the_error_tells_them() -> None:
    stream = io.StringIO()
    console = Console(stream)
    console.emit(event("run-started", workflow="w", jobs=["a"], resumed=False))
    table = "dataos://lake:raw/bad"
    for policy, rows, quarantine in (("fail", 3, None), ("drop", 1, None), ("quarantine", 3, table)):
        console.emit(
            event("job-note", "a", event="bad-rows", name="in", rows=rows, policy=policy, quarantine=quarantine)
        )
    assert stream.getvalue().splitlines()[1:] == [
        "[1/1] a: warning: input in: 1 bad row dropped",
        f"[1/1] a: warning: input in: 3 bad rows written to {table}",
    ]


def test_waiting_for_memory_is_told() -> None:
    stream, rows = io.StringIO(), JobRows()
    begun = event("run-started", workflow="w", jobs=["a"], resumed=False)
    heap = {"heap_used": 340 * 2**20, "heap_most": 512 * 2**20}
    waits = event("job-note", "a", event="waiting-for-memory", running=1, **heap)
    goes_on = event("job-note", "a", event="admitted", seconds=4.25)
    console = Console(stream)
    for each, doing in ((begun, ""), (waits, "waiting for memory"), (goes_on, "")):
        console.emit(each)
        rows.apply(each)
        assert rows.jobs["a"].doing == doing
    assert stream.getvalue().splitlines()[1:] == [
        "[1/1] a: waiting for memory: 340 of 512 MB of heap are in use, 1 job at work",
        "[1/1] a: has memory now, after 4.2 s",
    ]


def test_batches_of_streams_are_told() -> None:
    stream, rows = io.StringIO(), JobRows()
    console = Console(stream)
    told: dict[str, Any] = {"name": "rows", "batch": 7, "rows": 1200, "seconds": 0.25, "rows_per_second": 4800.0}
    for each in (
        event("run-started", workflow="w", jobs=["a"], resumed=False),
        event("job-note", "a", event="batch", lag={"maxOffsetsBehindLatest": "3"}, **told),
    ):
        console.emit(each)
        rows.apply(each)
    [line] = stream.getvalue().splitlines()[1:]
    assert rows.jobs["a"].doing == "rows: batch 7: 1,200 rows in 0.25 s, 4,800 rows/s, maxOffsetsBehindLatest 3"
    assert line == f"[1/1] a: {rows.jobs['a'].doing}"


def test_skipped_and_cancelled_jobs_are_told() -> None:
    stream = io.StringIO()
    console = Console(stream)
    console.emit(event("run-started", workflow="w", jobs=["a"], resumed=True))
    console.emit(event("job-skipped", "a", because="b"))
    console.emit(event("job-cancelled", "a"))
    lines = stream.getvalue().splitlines()
    assert lines[0].endswith("resumed, 1 job")
    assert lines[1:] == ["[1/1] a: skipped, because b did not succeed", "[1/1] a: cancelled"]


def test_a_lost_engine_is_told_with_what_to_do() -> None:
    stream = io.StringIO()
    Console(stream).emit(event("engine-lost", engine="default", error={**ERROR, "file": None}))
    assert stream.getvalue().startswith(
        "engine default: error[column-not-found]: there is no column [vendr_id]\n    hint:"
    )


def _terminal(height: int = 24) -> tuple[io.StringIO, LiveRows]:
    stream = io.StringIO()
    console = RichConsole(file=stream, force_terminal=True, width=110, height=height, color_system=None)
    return stream, LiveRows(console)


def _last_screen(stream: io.StringIO) -> str:
    return stream.getvalue().rsplit("\x1b[2K", 1)[-1]


def test_a_terminal_ends_with_one_row_per_job() -> None:
    stream, live = _terminal()
    for each in story():
        live.emit(each)
    live.close()
    rows = _last_screen(stream).splitlines()
    one = next(row for row in rows if "✓" in row)
    two = next(row for row in rows if "✗" in row)
    assert one.split() == ["✓", "one", "succeeded", "attempt", "2", "1", "min", "05", "s", "1,234,567", "rows"]
    assert two.split() == ["✗", "two", "failed", "5.0", "s"]


def test_a_terminal_shows_errors_and_warnings_above_the_rows() -> None:
    stream, live = _terminal()
    for each in story():
        live.emit(each)
    live.close()
    told = stream.getvalue()
    assert "two: failed after 5.0 s: error[column-not-found]: there is no column [vendr_id]" in told
    assert "hint: did you mean vendor_id?" in told
    assert "one: warning: no acl" in told
    assert "run 20240501-120000-abcdef failed" in told


def test_a_terminal_that_is_too_small_shows_what_is_under_way() -> None:
    stream, live = _terminal(height=6)
    names = [f"job{n:02}" for n in range(40)]
    live.emit(event("run-started", workflow="w", jobs=names, resumed=False))
    live.emit(event("job-succeeded", "job00", seconds=1.0, outputs=[]))
    live.emit(event("job-started", "job39"))
    live._live.refresh()
    screen = _last_screen(stream)
    live.close()
    assert "job39" in screen
    assert "job00" not in screen
    assert "40 jobs, 1 done" in screen


def test_a_console_closed_before_anything_happened_prints_nothing() -> None:
    stream, live = _terminal()
    live.close()
    assert stream.getvalue() == ""


def test_the_console_is_live_only_where_asked_or_on_a_terminal() -> None:
    stream = io.StringIO()
    console = Console(stream, live=True)
    console.emit(event("run-started", workflow="w", jobs=["a"], resumed=False))
    console.close()
    assert "· " in stream.getvalue()


def test_rows_follow_the_notes() -> None:
    rows = JobRows()
    rows.apply(event("run-started", workflow="w", jobs=["a"]))
    assert rows.jobs["a"].seconds(NOON) is None
    rows.apply(event("job-started", "a"))
    rows.apply(event("job-note", "a", event="writing", name="out"))
    rows.apply(event("job-note", "a", event="progress", done=3, total=8))
    row = rows.jobs["a"]
    assert row.progress
    assert (row.status, row.doing, row.progress.words()) == ("running", "writing out", "3/8 tasks")
    assert row.seconds(NOON + timedelta(seconds=4)) == 4.0
    rows.apply(event("job-note", "a", event="output", **OUTPUT))
    rows.apply(event("job-note", "a", event="output", name="more", rows=3))
    assert (rows.jobs["a"].rows_written, rows.jobs["a"].progress) == (1234570, None)
    rows.apply(event("job-started", "a", attempt=2))
    assert rows.jobs["a"].rows_written is None


PROGRESS: dict[str, Any] = {
    "event": "progress", "done": 50, "total": 200, "stages": [7], "stages_done": 1, "stages_total": 3,
    "rows": 1_234_567, "bytes": 95_400_000,
}  # fmt: skip


def test_a_job_that_is_silent_for_long_says_how_far_it_is() -> None:
    stream = io.StringIO()
    console = Console(stream)
    console.emit(event("run-started", workflow="w", jobs=["a"], resumed=False))
    console.emit(event("job-started", "a"))
    for after in (1.0, 59.0, 60.0, 61.0, 119.0, 121.0):
        console.emit(event("job-note", "a", after, **PROGRESS))
    line = "[1/1] a: stage 2/3, 50/200 tasks, 1,234,567 rows and 95 MB written"
    assert stream.getvalue().splitlines()[2:] == [line, line]


def test_a_terminal_shows_a_bar() -> None:
    stream, live = _terminal()
    live.emit(event("run-started", workflow="w", jobs=["a"], resumed=False))
    live.emit(event("job-started", "a"))
    live.emit(event("job-note", "a", **{**PROGRESS, "done": 100}))
    live.close()
    (row,) = [line for line in _last_screen(stream).splitlines() if "running" in line]
    assert "━" in row
    assert "stage 2/3, 100/200 tasks, 1,234,567 rows" in row


def test_events_of_unknown_jobs_change_nothing() -> None:
    rows = JobRows()
    rows.apply(event("job-started", "nobody"))
    assert rows.jobs == {}


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.04, "0.0 s"), (59.9, "59.9 s"), (60.0, "1 min 00 s"), (187.9, "3 min 07 s"), (7500, "2 h 05 min")],
)
def test_durations_as_people_read_them(value: float, told: str) -> None:
    assert seconds(value) == told


def test_an_error_is_one_paragraph() -> None:
    assert error_paragraph(ERROR).count("\n\n") == 0
    assert error_paragraph({"code": "x", "message": "m", "hint": None, "file": None}) == "error[x]: m"
