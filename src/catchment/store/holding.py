"""Holds a lease while its owner works: a thread renews it until it is released or lost."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from types import TracebackType

from catchment.errors import CatchmentError, LeaseLost, MetastoreUnavailable
from catchment.process_identity import ProcessIdentity
from catchment.store.leases import Lease, Leases

log = logging.getLogger(__name__)

RENEWALS = 4
"""Renewals within the duration of a lease; a few may fail before the owner counts as dead."""
AGAIN_SECONDS = 1.0
"""The pause after a failed step."""


class Repeated:
    """Repeats a step in a thread of its own, until it is stopped or a lease is lost.

    If the metastore does not answer or refuses, the step is repeated a moment later. No error ends the thread: the
    holder of the lease is alive, and only the metastore can say that the lease is lost.
    """

    def __init__(self, name: str, step: Callable[[], object], every: float) -> None:
        self.lost: LeaseLost | None = None
        """Why the thread ended by itself: there is no lease left to renew."""
        self._name, self._step, self._every = name, step, every
        self._stopped = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop; returns once no step is running."""
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
    """An acquired lease, which is renewed until it is released.

    Another process may take it over if this one is not heard from for too long. Work that must stop in that case calls
    `check` as it goes; other work goes on, because something else decides between the two processes. If `stalled` is
    given, a holder that has neither called `check` nor made progress for that many seconds counts as hung, and its
    lease is left to expire. `progress` is called only then; its result differs after each step of the work.
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
        """Acquire a free lease; raises LeaseHeld if another process holds it."""
        lease = leases.acquire(name, owner, seconds, process)
        return cls(leases, lease, seconds, every=every, stalled=stalled, progress=progress)

    def check(self, trust: float = math.inf) -> None:
        """Raise LeaseLost if another process took over the lease.

        The last renewal is trusted for `trust` seconds. If it is older, the lease is first confirmed in the metastore.
        """
        self._moved = time.monotonic()
        if self._renewal.lost is not None:
            raise self._renewal.lost
        if time.monotonic() - self._renewed > trust:
            asked = time.monotonic()
            self._leases.confirm(self.lease, self._seconds)
            self._renewed = asked

    def release(self) -> None:
        """Release the lease. If the metastore does not answer, the lease expires by itself."""
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
