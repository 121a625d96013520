"""Nobody who reads along holds up a run: a pipe that is full, and that nobody empties."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment import run
from catchment.events.console import Console
from catchment.run import run_history
from tests.concurrency.waiting import until
from tests.unit.run.conftest import Lab, job


@pytest.fixture
def full_pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe that takes nothing more until somebody reads."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"\n" * 4096)
    os.set_blocking(writing, True)
    yield reading, writing
    os.close(reading)


def test_a_console_that_nobody_reads_delays_no_job(lab: Lab, full_pipe: tuple[int, int]) -> None:
    reading, writing = full_pipe
    results: list[run.Run] = []
    jobs = [job(name, "note") for name in "abc"] + [job("last", "note", *"abc")]
    stream = os.fdopen(writing, "w")
    running = threading.Thread(target=lambda: results.append(lab.run(*jobs, sinks=[Console(stream)])), daemon=True)
    running.start()
    try:
        # Everything is done and recorded, in the metastore and in the file of events.
        until(lambda: [each.status for each in run_history.runs(lab.project, 1)] == ["succeeded"])
        until(lambda: '"run-finished"' in _events(lab))
        assert not results
    finally:
        drain = threading.Thread(target=_drain, args=(reading,), daemon=True)
        drain.start()
        running.join(60)
        stream.close()
        drain.join(60)
    assert [each.status for each in results] == ["succeeded"]


def _events(lab: Lab) -> str:
    [file] = Path(lab.root, ".catchment", "runs").glob("*/events.jsonl")
    return file.read_text()


def _drain(pipe: int) -> None:
    while os.read(pipe, 65536):
        pass
