"""A run or a scheduler holds its lease as long as its process lives: that is how everybody else knows that it does."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from catchment.errors import CatchmentError, LeaseLost
from catchment.run.identity import owner
from catchment.store import Lease, Store
from catchment.store.runs import lease_name

log = logging.getLogger(__name__)

BEATS = 4
"""Renewals in the time a lease lasts; a few may be late before anybody takes the run for dead."""


class Heartbeat:
    """Renews a lease until it is stopped or the lease is lost."""

    def __init__(self, store: Store, lease: Lease, seconds: float) -> None:
        self.lease = lease
        self._leases = store.leases
        self._seconds = seconds
        self._lost: LeaseLost | None = None
        self._stopped = Event()
        self._thread = Thread(target=self._beat, name="catchment-heartbeat", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise LeaseLost where somebody else has taken the run over."""
        if self._lost is not None:
            raise self._lost

    def stop(self) -> None:
        """Stop renewing."""
        self._stopped.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._stopped.wait(self._seconds / BEATS):
            try:
                self._leases.renew(self.lease, self._seconds)
            except LeaseLost as lost:
                self._lost = lost
                return
            except CatchmentError as error:
                log.warning("the lease could not be renewed, trying again: %s", error.message)


@contextmanager
def held_lease(store: Store, run_id: str, seconds: float) -> Iterator[Heartbeat]:
    """Hold the lease of a run, beating; raises LeaseHeld where another process executes the run."""
    with held(store, lease_name(run_id), owner(), seconds) as heartbeat:
        yield heartbeat


@contextmanager
def held(store: Store, name: str, by: str, seconds: float) -> Iterator[Heartbeat]:
    """Hold any lease, beating; raises LeaseHeld where somebody else has it."""
    lease = store.leases.acquire(name, by, seconds)
    heartbeat = Heartbeat(store, lease, seconds)
    try:
        yield heartbeat
    finally:
        heartbeat.stop()
        store.leases.release(lease)
