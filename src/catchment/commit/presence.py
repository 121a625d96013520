"""Signs of life in the metastore: which engines are alive, and who reads the lake."""

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
"""How long an engine that died still counts as alive: longer than the patience of a living one with the metastore."""
EVERY_SECONDS = 5.0
"""How often an engine says that it is alive: of one that is taken for dead, the open writes are given up."""
READER_SECONDS = 60.0
"""How long a reader that died still counts."""
RENEWALS = 6
"""How often a reader is heard from in that time."""


class Presence:
    """Says that an engine is alive, until it ends."""

    def __init__(self, store: Store, owner: str, seconds: float, every: float) -> None:
        self.owner = owner
        """The lease that says so. While it is held, nobody else touches the engine's open writes."""
        self._store = store
        store.engines.here(owner, seconds)
        self._renewal = Repeated(f"the sign of life of {owner}", lambda: store.engines.heard(owner, seconds), every)

    def end(self) -> None:
        """The engine ends. If the metastore does not answer, the lease runs out by itself."""
        self._renewal.stop()
        with suppress(MetastoreUnavailable):
            self._store.engines.ended(self.owner)

    def __enter__(self) -> Presence:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.end()


def announce(store: Store, seconds: float = ENGINE_SECONDS, *, every: float = EVERY_SECONDS) -> Presence:
    """Say that this engine is alive, for as long as its process is or until it ends."""
    owner = f"{PREFIX}{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    return Presence(store, owner, seconds, every)


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
    renewal = Repeated(f"the sign of life of {name}", renew, seconds / RENEWALS)
    try:
        yield
    finally:
        renewal.stop()
        with suppress(MetastoreUnavailable):  # then it runs out by itself
            store.readers.end(name)
