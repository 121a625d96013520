"""Nobody who reads along holds up a run: a pipe that is full, and that nobody empties."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from catchment import run
from catchment.events.console import Console
from catchment.run import run_history
from tests.concurrency.waiting import until
from tests.slow_readers import full_pipe, is_held
from tests.unit.run.conftest import Lab, job


@pytest.mark.parametrize("run_id", [None, "20260102-030405-chosen"], ids=["new", "chosen id"])
def test_a_console_that_nobody_reads_delays_no_job(lab: Lab, run_id: str | None) -> None:
    reading, writing = full_pipe()
    results: list[run.Run] = []
    jobs = [job(name, "note") for name in "abc"] + [job("last", "note", *"abc")]
    stream = os.fdopen(writing, "w")

    def carry_out() -> None:
        results.append(lab.run(*jobs, sinks=[Console(stream)], run_id=run_id))

    running = threading.Thread(target=carry_out, daemon=True)
    running.start()
    try:
        # Everything is done and recorded, in the metastore and in the file of events.
        until(lambda: [each.status for each in run_history.runs(lab.project, 1)] == ["succeeded"])
        until(lambda: '"run-finished"' in _events(lab))
        until(lambda: not is_held(lab.project.metastore, run_history.runs(lab.project, 1)[0].run_id))
        assert not results
    finally:
        drain = threading.Thread(target=_drain, args=(reading,), daemon=True)
        drain.start()
        running.join(60)
        stream.close()
        drain.join(60)
        os.close(reading)
    assert [each.status for each in results] == ["succeeded"]


def _events(lab: Lab) -> str:
    [file] = Path(lab.root, ".catchment", "runs").glob("*/events.jsonl")
    return file.read_text()


def _drain(pipe: int) -> None:
    while os.read(pipe, 65536):
        pass
