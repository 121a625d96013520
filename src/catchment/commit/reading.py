"""Whoever reads the lake says so, so that nobody removes what it may still need."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from catchment.errors import MetastoreUnavailable
from catchment.store import Store

READER_SECONDS = 60.0
"""How long a reader that died still counts."""


@contextmanager
def reading(store: Store, who: str) -> Iterator[None]:
    """Count as a reader until the work is done."""
    name, done = f"{who}:{uuid.uuid4().hex[:8]}", threading.Event()
    try:
        store.readers.begin(name, READER_SECONDS)
    except MetastoreUnavailable:
        # A question need not fail for that: who would remove files has to ask the same metastore.
        yield
        return
    thread = threading.Thread(target=_renew, args=(store, name, done), name="reading", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        with suppress(MetastoreUnavailable):  # then it runs out by itself
            store.readers.end(name)


def _renew(store: Store, name: str, done: threading.Event) -> None:
    while not done.wait(READER_SECONDS / 6):
        with suppress(MetastoreUnavailable):
            store.readers.renew(name, READER_SECONDS)
