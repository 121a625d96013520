"""What nobody reads, and who waits for it."""

from __future__ import annotations

import contextlib
import os

from catchment.store import read_store
from catchment.store.runs import lease_name


def full_pipe() -> tuple[int, int]:
    """Both ends of a pipe that takes nothing more until somebody reads."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"\n" * 4096)
    os.set_blocking(writing, True)
    return reading, writing


def is_held(metastore: str, run_id: str) -> bool:
    """Whether a process executes a run."""
    with read_store(metastore) as store:
        return store.leases.holder(lease_name(run_id)) is not None
