"""Whoever reads the lake says so, so that nobody removes what it may still need."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from catchment.errors import MetastoreUnavailable
from catchment.store import Store

READER_SECONDS = 60.0
"""How long a reader that died still counts."""


@contextmanager
def reading(store: Store, who: str) -> Iterator[None]:
    """Count as a reader until the work is done; whenever the metastore does not answer, as soon as it does."""
    name, began, done = f"{who}:{uuid.uuid4().hex[:8]}", time.monotonic(), threading.Event()

    def here() -> None:
        # A question need not fail for that: who would remove files has to ask the same metastore.
        with suppress(MetastoreUnavailable):
            store.readers.here(name, time.monotonic() - began, READER_SECONDS)

    def stay() -> None:
        while not done.wait(READER_SECONDS / 6):
            here()

    here()
    thread = threading.Thread(target=stay, name="reading", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        with suppress(MetastoreUnavailable):  # then it runs out by itself
            store.readers.end(name)
