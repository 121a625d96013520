"""Publish: whoever holds the table's lease consolidates for everybody; the others wait for their row to turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from catchment.commit import faults
from catchment.commit.consolidate import consolidate
from catchment.commit.ledger import Ledger, WritesMoved
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
    table: LakeTable
    """The publisher's own object: a consolidation must not see others' refreshes."""
    turn: threading.Condition = field(default_factory=threading.Condition)
    leader: threading.Lock = field(default_factory=threading.Lock)

    def publish(self, write_id: str) -> Write:
        """Return when the write is committed; raises why it never will be."""
        while self.ledger.state(write_id) == "sealed":
            if not self.consolidate():
                with self.turn:
                    self.turn.wait(POLL_SECONDS)
        write = self.ledger.find(write_id)
        if write is None or write.state != "committed":
            raise _error(write_id, write)
        return write

    def consolidate(self) -> bool:
        """Take the lease and publish what is sealed; False where somebody else is at it."""
        if not self.leader.acquire(blocking=False):
            return False  # one thread of this engine asks for the lease, the others wait for its news
        try:
            lease = self._lease()
            if lease is None:
                return False
            faults.point("lease-taken")
            try:
                with _renewed(self.store, lease):
                    self._work()
            finally:
                self.store.leases.release(lease)
            return True
        finally:
            self.leader.release()

    def _lease(self) -> Lease | None:
        name = f"table/{self.target}"
        if self.store.leases.holder(name) is not None:
            return None  # asking costs nothing; trying to take it would queue up with every writer of the metastore
        try:
            return self.store.leases.acquire(name, self.owner, LEASE_SECONDS)
        except LeaseHeld:
            return None

    def _work(self) -> None:
        deadline = time.monotonic() + TURN_SECONDS
        while time.monotonic() < deadline:
            batch = self.ledger.pending(self.target, limit=BATCH)
            if not batch:
                return
            try:
                outcome = consolidate(self.table, batch, tried=self.ledger.mark_tried)
            except WritesMoved:
                continue
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


def _error(write_id: str, write: Write | None) -> CatchmentError:
    known = (write.error if write else None) or {"code": "write-abandoned", "message": f"{write_id} was abandoned"}
    kind = CommitConflict if known.get("conflict") else JobError
    return kind(str(known["message"]), code=str(known["code"]), hint=known.get("hint"))
