"""Heartbeats in the metastore: which engines are alive, and who reads the lake."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

from catchment.errors import MetastoreUnavailable
from catchment.store import Store
from catchment.store.engines import PREFIX
from catchment.store.holding import Repeated

ENGINE_SECONDS = 90.0
"""How long a dead engine still counts as alive. It is longer than a live engine waits for the metastore."""
EVERY_SECONDS = 5.0
"""How often an engine reports that it is alive; if it counts as dead, its open writes are abandoned."""
READER_SECONDS = 60.0
"""How long a dead reader still counts."""
RENEWALS = 6
"""How often a reader renews its record in that time."""


class Presence:
    """Reports that an engine is alive, until the engine ends."""

    def __init__(self, store: Store, owner: str, seconds: float, every: float) -> None:
        self.owner = owner
        """The engine's lease. While it is held, nobody else touches the engine's open writes."""
        self._store = store
        store.engines.here(owner, seconds)
        self._renewal = Repeated(f"the sign of life of {owner}", lambda: store.engines.heard(owner, seconds), every)

    def end(self) -> None:
        """Record that the engine ends. If the metastore does not answer, the lease expires by itself."""
        self._renewal.stop()
        with suppress(MetastoreUnavailable):
            self._store.engines.ended(self.owner)

    def __enter__(self) -> Presence:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.end()


def announce(store: Store, seconds: float = ENGINE_SECONDS, *, every: float = EVERY_SECONDS) -> Presence:
    """Report that this engine is alive until it ends or its process dies."""
    owner = f"{PREFIX}{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    return Presence(store, owner, seconds, every)


@contextmanager
def reading(store: Store, who: str, seconds: float = READER_SECONDS) -> Iterator[None]:
    """Register a reader until the work is done, so that files it may still need are not removed.

    Reading does not fail if the metastore does not answer: removing files needs the same metastore.
    """
    name, began = f"{who}:{uuid.uuid4().hex[:8]}", time.monotonic()

    def renew() -> None:
        store.readers.here(name, time.monotonic() - began, seconds)

    with suppress(MetastoreUnavailable):  # then the first successful renewal records since when
        renew()
    renewal = Repeated(f"the sign of life of {name}", renew, seconds / RENEWALS)
    try:
        yield
    finally:
        renewal.stop()
        with suppress(MetastoreUnavailable):  # then the record expires by itself
            store.readers.end(name)
