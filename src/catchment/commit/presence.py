"""Signs of life in the metastore: which engines are alive, and who reads the lake."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from catchment.errors import MetastoreUnavailable
from catchment.store import Store
from catchment.store.holding import HeldLease, Renewal

ENGINE_SECONDS = 30.0
"""How long an engine that died still counts as alive."""
READER_SECONDS = 60.0
"""How long a reader that died still counts."""
RENEWALS = 6
"""More than usual: of an engine that is taken for dead, the open writes are given up."""


def announce(store: Store, seconds: float = ENGINE_SECONDS) -> str:
    """Say that this engine is alive, for as long as its process is; returns the lease that says so.

    While this lease is held, nobody else touches the engine's open writes.
    """
    owner = f"engine/{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    HeldLease.acquire(store.leases, owner, owner, seconds, every=seconds / RENEWALS)
    return owner


@contextmanager
def reading(store: Store, who: str, seconds: float = READER_SECONDS) -> Iterator[None]:
    """Count as a reader until the work is done, so that nobody removes files that it may still need.

    Reading does not fail if the metastore does not answer: whoever would remove files has to ask the same metastore.
    """
    name, began = f"{who}:{uuid.uuid4().hex[:8]}", time.monotonic()

    def renew() -> None:
        store.readers.here(name, time.monotonic() - began, seconds)

    with suppress(MetastoreUnavailable):  # then the first renewal that succeeds says since when
        renew()
    renewal = Renewal(f"the reader {name}", renew, seconds / RENEWALS)
    try:
        yield
    finally:
        renewal.stop()
        with suppress(MetastoreUnavailable):  # then it runs out by itself
            store.readers.end(name)
