"""The lease of an incremental job, on a real metastore."""

from __future__ import annotations

import logging
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from catchment.commit import leases
from catchment.job import lease
from catchment.job.story import Story
from catchment.store.states import lease_name
from tests.ledgers import ALIVE, Filled


def test_a_cancelled_attempt_that_hangs_loses_the_lease(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.3)
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.3)
    monkeypatch.setattr(lease, "STUCK_SECONDS", 0.1)
    cancelled = threading.Event()
    story = Story("a", logging.getLogger("test"), lambda _: None, cancelled)
    writer: Any = SimpleNamespace(store=filled.store, owner=ALIVE)
    command: Any = SimpleNamespace(workflow="w", job=SimpleNamespace(name="j"), run_id="r", request=SimpleNamespace())
    command.request.wait = False
    with lease.job_lease(writer, command, story):
        cancelled.set()
        while filled.store.leases.take(lease_name("w", "j"), "another", 60.0) is None:
            time.sleep(0.05)
