"""A run whose metastore is stopped and started again: it waits, and records what happened meanwhile."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from catchment import run
from catchment.project.model import Engine, Project
from catchment.run import run_history
from tests.concurrency.waiting import until
from tests.servers.postgres import PostgresServer
from tests.unit.run.conftest import QUICK, Lab, job


def test_a_run_waits_for_its_metastore(
    server: PostgresServer, schema_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = Lab(tmp_path, Project(tmp_path, None, schema_url, {}, {"default": Engine("default")}))
    go_on, results = tmp_path / "go-on", list[run.Run]()
    jobs = job("a", f"until {go_on}"), job("b", "note", "a")
    timing = replace(QUICK, lease=2.0)
    running = threading.Thread(target=lambda: results.append(lab.run(*jobs, timing=timing)), daemon=True)
    running.start()
    until(lambda: len(lab.trace("begin")) == 1)
    server.pause()
    try:
        go_on.touch()
        until(lambda: len(lab.trace("end")) == 1)  # the end of the job is to be recorded now
        with caplog.at_level(logging.WARNING):
            until(lambda: "renewing the lease" in caplog.text)
    finally:
        server.start()
    running.join(60)
    assert [each.status for each in results] == ["succeeded"]
    shown = run_history.show(lab.project, results[0].run_id)
    assert [(each.name, each.status, each.attempts) for each in shown.jobs] == [
        ("a", "succeeded", 1),
        ("b", "succeeded", 1),
    ]
