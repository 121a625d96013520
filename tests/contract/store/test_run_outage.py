"""A run whose metastore is stopped and started again: it waits, and records what happened meanwhile."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from catchment import run
from catchment.errors import MetastoreUnavailable
from catchment.project.model import Engine, Project
from catchment.run import run_history
from catchment.store import Store, open_store
from catchment.store.database import PAUSE_SECONDS
from tests.concurrency.waiting import sleep_until, until
from tests.servers.postgres import PostgresServer
from tests.unit.run.conftest import QUICK, Lab, job


@pytest.mark.parametrize("seconds", [0, pytest.param(45, marks=[pytest.mark.slow, pytest.mark.exhaustive])])
def test_a_run_waits_for_its_metastore(
    server: PostgresServer, schema_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, seconds: int
) -> None:
    lab = Lab(tmp_path, Project(tmp_path, None, schema_url, {}, {"default": Engine("default")}))
    go_on, results = tmp_path / "go-on", list[run.Run]()
    jobs = job("a", f"until {go_on}"), job("b", "note", "a")
    timing = replace(QUICK, lease=2.0)
    running = threading.Thread(target=lambda: results.append(lab.run(*jobs, timing=timing)), daemon=True)
    running.start()
    until(lambda: len(lab.trace("begin")) == 1)
    server.pause()
    stopped = time.monotonic()
    try:
        go_on.touch()
        until(lambda: len(lab.trace("end")) == 1)  # the end of the job is to be recorded now
        with caplog.at_level(logging.WARNING):
            until(lambda: "renewing the lease" in caplog.text)
        sleep_until(stopped + seconds)
        assert not results
    finally:
        server.start()
    running.join(60)
    assert [each.status for each in results] == ["succeeded"]
    shown = run_history.show(lab.project, results[0].run_id)
    assert [(each.name, each.status, each.attempts) for each in shown.jobs] == [
        ("a", "succeeded", 1),
        ("b", "succeeded", 1),
    ]


@pytest.mark.parametrize(("once", "again"), [(True, False), (False, True)])
def test_all_steps_of_a_run_wait_once_and_each_step_of_an_engine(schema_url: str, once: bool, again: bool) -> None:
    with open_store(schema_url, patience=2 * PAUSE_SECONDS, once=once) as store:
        assert _tries(store) > 1
        assert (_tries(store) > 1) is again
        assert store.leases.take("back", "somebody", 60.0)  # the next outage is another one
        assert _tries(store) > 1


def _tries(store: Store) -> int:
    """How often a step is taken while nothing can be written."""
    tried = 0

    def step() -> None:
        nonlocal tried
        tried += 1
        with store.database.writing():
            raise MetastoreUnavailable("it does not answer", code="metastore-unavailable", hint="wait")

    with pytest.raises(MetastoreUnavailable):
        store.database.patiently(step)
    return tried
