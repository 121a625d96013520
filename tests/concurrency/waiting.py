"""Engines that wait or sleep in the middle of a write: how tests hold them there, and know that they are there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from catchment.store import Store
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, table

PATIENCE = 180.0
"""A machine that does much else is slow; whoever gets what it waits for pays nothing for a long limit."""


@contextmanager
def held(store: Store, name: str) -> Iterator[None]:
    """Hold the lease of a table: writers seal, and nobody publishes."""
    lease = store.leases.acquire(f"table/{table(name).address}", "somebody who takes his time", 600.0)
    try:
        yield
    finally:
        store.leases.release(lease)


def await_pending(filled: Filled, name: str, count: int) -> None:
    """Wait until so many sealed writes of a table wait to be published."""
    until(lambda: filled.ledger.count_pending(table(name).address) >= count)


def await_sleep(pid: int) -> None:
    """Wait until the process has been stopped by its own fault."""
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")


def worker_of(engine: LiveEngine) -> int:
    """The process of an engine's worker."""
    assert engine.process._process is not None
    return engine.process._process.pid


def until(reached: Callable[[], bool]) -> None:
    """Wait for something that comes by itself."""
    deadline = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def sleep_until(moment: float) -> None:
    """Return at a moment of `time.monotonic`, for tests of how long something may take; at once if it has passed."""
    time.sleep(max(0.0, moment - time.monotonic()))
