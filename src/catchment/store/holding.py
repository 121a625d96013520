"""Holding a right in the metastore while its owner works: a thread renews it until it is given back or lost."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from types import TracebackType

from catchment.errors import CatchmentError, LeaseLost, MetastoreUnavailable
from catchment.store.leases import Lease, Leases, ProcessIdentity

log = logging.getLogger(__name__)

RENEWALS = 4
"""Renewals in the time that a lease lasts; a few may fail before anybody takes its owner for dead."""
AGAIN_SECONDS = 1.0
"""How long to wait after a step that failed."""


class Repeated:
    """Takes a step again and again in a thread of its own, until it is stopped or a lease is lost.

    A metastore that does not answer, or that refuses, is asked again a moment later. No trouble ends the thread:
    whoever renews a lease is alive, and only the metastore can say that it is lost.
    """

    def __init__(self, name: str, step: Callable[[], object], every: float) -> None:
        self.lost: LeaseLost | None = None
        """Why there is nothing to renew any more."""
        self._name, self._step, self._every = name, step, every
        self._stopped = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop; returns when no step is under way any more."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self._every
        while not self._stopped.wait(pause):
            pause = min(self._every, AGAIN_SECONDS)
            try:
                self._step()
                pause = self._every
            except LeaseLost as lost:
                self.lost = lost
                return
            except CatchmentError as error:
                log.warning("%s failed, trying again: %s", self._name, error.message)
            except Exception:
                log.exception("%s failed, trying again", self._name)


class HeldLease:
    """A lease that was acquired, and is renewed until it is released.

    Another process may take it over if this one is not heard from for too long. Work that must not go on then calls
    `check` on its way; other work goes on, because something else decides between the two. Where `stalled` is given,
    a holder that has neither called `check` nor made progress for so many seconds hangs, and its lease is left to
    whoever wants it. `progress` is asked only then: whatever it returns is something else after each step of the work.
    """

    def __init__(
        self,
        leases: Leases,
        lease: Lease,
        seconds: float,
        *,
        every: float | None = None,
        stalled: float = math.inf,
        progress: Callable[[], object] = lambda: None,
    ) -> None:
        self.lease = lease
        self._leases, self._seconds, self._stalled = leases, seconds, stalled
        self._progress = progress
        self._last_seen: object = None
        self._renewed = self._moved = time.monotonic()
        self._renewal = Repeated(f"renewing the lease {lease.name}", self._renew, every or seconds / RENEWALS)

    @classmethod
    def acquire(
        cls,
        leases: Leases,
        name: str,
        owner: str,
        seconds: float,
        *,
        every: float | None = None,
        stalled: float = math.inf,
        progress: Callable[[], object] = lambda: None,
        process: ProcessIdentity | None = None,
    ) -> HeldLease:
        """Take a lease that nobody holds; raises LeaseHeld if somebody does."""
        lease = leases.acquire(name, owner, seconds, process)
        return cls(leases, lease, seconds, every=every, stalled=stalled, progress=progress)

    def check(self, trust: float = math.inf) -> None:
        """Raise LeaseLost if somebody took the lease over.

        The last renewal is trusted for so many seconds. If it is older, the metastore is asked before this returns.
        """
        self._moved = time.monotonic()
        if self._renewal.lost is not None:
            raise self._renewal.lost
        if time.monotonic() - self._renewed > trust:
            asked = time.monotonic()
            self._leases.confirm(self.lease, self._seconds)
            self._renewed = asked

    def release(self) -> None:
        """Give the lease back. If the metastore does not answer, the lease runs out by itself."""
        self._renewal.stop()
        with suppress(MetastoreUnavailable):
            self._leases.release(self.lease)

    def __enter__(self) -> HeldLease:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.release()

    def _renew(self) -> None:
        asked = time.monotonic()
        if asked - self._moved <= self._stalled or self._has_progressed():
            self._leases.renew(self.lease, self._seconds)
            self._renewed = asked

    def _has_progressed(self) -> bool:
        seen = self._progress()
        if seen == self._last_seen:
            return False
        self._last_seen, self._moved = seen, time.monotonic()
        return True
