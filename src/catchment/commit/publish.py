"""Publish: whoever holds the table's lease consolidates for everybody; the others wait for their row to turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from catchment.commit import faults
from catchment.commit.consolidate import consolidate
from catchment.commit.ledger import Ledger
from catchment.commit.model import Write
from catchment.commit.table import LakeTable
from catchment.errors import CatchmentError, CommitConflict, JobError, LeaseHeld, LeaseLost, StorageUnavailable
from catchment.store import Store
from catchment.store.leases import Lease

LEASE_SECONDS = 10.0
TURN_SECONDS = 20.0
"""A holder gives the lease back after this long, even if more is waiting: nobody works for all for ever."""
BATCH = 256
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Publisher:
    """Publishes the sealed writes of one table, for all threads of one engine."""

    store: Store
    ledger: Ledger
    target: str
    owner: str
    load: Callable[[], LakeTable]
    """Loads the table; the object is the publisher's own, because a consolidation must not see others' refreshes."""
    turn: threading.Condition

    def publish(self, write_id: str) -> Write:
        """Return when the write is committed; raises why it never will be."""
        while True:
            write = self.ledger.find(write_id)
            if write is None:
                raise JobError(f"the ledger no longer knows the write {write_id}", code="write-unknown")
            if write.state == "committed":
                return write
            if write.state != "sealed":
                raise _error(write)
            if not self.consolidate():
                with self.turn:
                    self.turn.wait(POLL_SECONDS)

    def consolidate(self) -> bool:
        """Take the lease and publish what is sealed; False where somebody else is at it."""
        try:
            lease = self.store.leases.acquire(f"table/{self.target}", self.owner, LEASE_SECONDS)
        except LeaseHeld:
            return False
        faults.point("lease-taken")
        try:
            with _renewed(self.store, lease):
                self._work()
        finally:
            self.store.leases.release(lease)
        return True

    def _work(self) -> None:
        table, deadline = self.load(), time.monotonic() + TURN_SECONDS
        while time.monotonic() < deadline:
            batch = self.ledger.pending(self.target, limit=BATCH)
            if not batch:
                return
            outcome = consolidate(table, batch)
            faults.point("before-marked")
            self.ledger.mark_committed(outcome.committed)
            for write in batch:
                if write.write_id in outcome.refused:
                    self.ledger.abandon(write, _described(outcome.refused[write.write_id]))
            faults.point("marked")
            with self.turn:
                self.turn.notify_all()


@contextmanager
def _renewed(store: Store, lease: Lease) -> Iterator[None]:
    done = threading.Event()
    thread = threading.Thread(target=_renew, args=(store, lease, done), name="lease-renewal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _renew(store: Store, lease: Lease, done: threading.Event) -> None:
    while not done.wait(LEASE_SECONDS / 3):
        try:
            store.leases.renew(lease, LEASE_SECONDS)
        except LeaseLost:
            return  # the swap decides between two consolidators; the work may go on
        except StorageUnavailable:
            continue


def _described(error: CatchmentError) -> dict[str, str | bool | None]:
    retryable = isinstance(error, CommitConflict)
    return {"code": error.code, "message": error.message, "hint": error.hint, "conflict": retryable}


def _error(write: Write) -> CatchmentError:
    known = write.error or {"code": "write-abandoned", "message": f"the write {write.write_id} was abandoned"}
    kind = CommitConflict if known.get("conflict") else JobError
    return kind(str(known["message"]), code=str(known["code"]), hint=known.get("hint"))
