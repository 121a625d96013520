"""Publishes sealed writes: the holder of the table's lease consolidates for all, the others wait for their writes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from catchment.commit import faults
from catchment.commit.abandonment import Rounds, abandon_lost, reason
from catchment.commit.leases import CHECK_SECONDS, LEASE_SECONDS, held
from catchment.commit.linger import Linger
from catchment.commit.set_aside import UNREADABLE, unreadable
from catchment.errors import CatchmentError, CommitConflict, JobError, LeaseLost, Retryable
from catchment.store import Store
from catchment.store.ledger import Ledger, WritesMoved
from catchment.store.writes import Entry, Published

log = logging.getLogger(__name__)

Check = Callable[[], None]
"""Raises `LeaseLost` if another process took over the lease."""
Tell = Callable[[str], None]
"""Receives warnings for the user."""


@dataclass
class Outcome:
    """What became of a batch."""

    committed: dict[str, int | None] = field(default_factory=dict)
    """Write id -> snapshot; None if there was nothing to commit, or if the format has no snapshots."""
    refused: dict[str, CatchmentError] = field(default_factory=dict)
    """Writes that can never be published."""
    set_aside: dict[str, CatchmentError] = field(default_factory=dict)
    """Writes that could not be published and need a person's decision."""
    learned: tuple[str, ...] = ()
    """Writes that are in the table but that the ledger had lost."""
    sent: set[str] = field(default_factory=set)
    """Writes in swaps that were sent during this consolidation: the ledger has them marked as tried."""
    unsure: set[str] = field(default_factory=set)
    """Writes in swaps whose outcome is unknown."""

    def left(self, batch: Sequence[Entry]) -> list[Entry]:
        """The writes whose fate is not known yet."""
        known = {*self.committed, *self.refused, *self.set_aside}
        left = [write for write in batch if write.write_id not in known]
        return [replace(write, tried=write.tried or write.write_id in self.unsure) for write in left]

    def as_in_ledger(self, write: Entry) -> Entry:
        """A write of the batch as the ledger has it now."""
        return replace(write, tried=write.tried or write.write_id in self.sent)


class Destination(Protocol):
    """Publishes the sealed writes of one target; the caller holds its lease."""

    @property
    def removes_buffers(self) -> bool:
        """Whether `tidy` can remove buffers; otherwise only the table's history tells whether their files are live."""
        ...

    @property
    def batch(self) -> int:
        """The most writes that it publishes at once."""
        ...

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        """Publish sealed writes in order; raises `WritesMoved` if another consolidator has changed them."""
        ...

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        """Remove the buffers of abandoned writes that can go without checking the table's history; returns them."""
        ...


BEHIND = "metastore-behind"
TURN_SECONDS = 1.0
"""A holder releases the lease after this long even if more writes wait: its own write is long since published."""
STALLED_SECONDS = 300.0
"""A consolidation that made no progress for this long counts as hung; its lease is then left to expire."""
LOOK_SECONDS = 0.05
"""How often an engine checks what another one has published."""
NEWS_SECONDS = 1.0
"""How long a writer waits for news from its engine's leading thread before it checks for itself."""


Into = TypeVar("Into", bound="Destination")


class News:
    """Wakes waiting threads when something has happened; a thread that read `number` first misses nothing."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.number = 0

    def tell(self) -> None:
        """Wake all waiting threads."""
        with self._changed:
            self.number += 1
            self._changed.notify_all()

    def wait(self, heard: int, seconds: float) -> None:
        """Return as soon as there is news after number `heard`, or after `seconds`."""
        with self._changed:
            self._changed.wait_for(lambda: self.number != heard, seconds)


@dataclass(frozen=True)
class Publisher(Generic[Into]):
    """Publishes the sealed writes of one table or directory, for all threads of one engine."""

    store: Store
    ledger: Ledger
    target: str
    owner: str
    destination: Into
    news: News = field(default_factory=News)
    leader: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that consolidates or watches another engine do so; the other threads wait for its news."""
    rounds: Rounds = field(default_factory=Rounds)
    stalled: float = STALLED_SECONDS
    place: str | None = None
    """The table's location, if its lease is named after the location instead of the target."""

    def publish(self, write_id: str, tell: Tell = log.warning) -> Entry:
        """Wait until the write is committed; raises the reason if it will not be."""
        heard = self.news.number
        while not self._lead(write_id, tell) and self._waits(write_id):
            self.news.wait(heard, NEWS_SECONDS)
            heard = self.news.number
        write = self.ledger.find(write_id)
        if write is None:
            raise Retryable(
                f"the metastore has lost {write_id}, as after a failover to an older copy",
                code=BEHIND,
                hint="another attempt writes it again, unless the table has it",
            )
        if write.state != "committed":
            raise _error(write)
        return write

    def linger(self, write_id: str, linger: Linger) -> None:
        """Wait for more writes before taking the lease: until the last one has come, a batch is full, or time is up.

        Ends early if another engine or thread has published the write.
        """
        last_has_come, end = linger.announce(), time.monotonic() + linger.seconds
        while (left := end - time.monotonic()) > 0 and self._waits(write_id):
            if self.ledger.count_pending(self.target) >= self.destination.batch:
                return
            if last_has_come.wait(min(left, NEWS_SECONDS)):
                return

    def consolidate(self, tell: Tell = log.warning) -> bool:
        """Publish what is sealed; False if another thread or engine is doing so."""
        if not self.leader.acquire(blocking=False):
            return False
        try:
            return self._consolidate(tell)
        finally:
            self.leader.release()
            self.news.tell()

    def give_up_lost(self) -> tuple[str, ...]:
        """Abandon the open writes of lost engines, and remove their buffers if that needs no look at the history."""
        lost = abandon_lost(self.ledger, self.target)
        left = [buffer for _, buffer in self.ledger.leftovers(self.target)]
        self.ledger.forget(self.destination.tidy(left))
        return lost

    def _lead(self, write_id: str, tell: Tell) -> bool:
        """Consolidate or watch for all threads of this engine until the write is done; False if another thread does."""
        if not self.leader.acquire(blocking=False):
            return False
        try:
            while self._waits(write_id):
                if not self._consolidate(tell):
                    time.sleep(LOOK_SECONDS)
        finally:
            self.leader.release()
            self.news.tell()
        return True

    def _waits(self, write_id: str) -> bool:
        return self.ledger.waits(write_id)

    def _consolidate(self, tell: Tell) -> bool:
        lease = self.store.leases.take(f"table/{self.place or self.target}", self.owner, LEASE_SECONDS)
        if lease is None:
            return False
        faults.point("lease-taken")
        # If the lease was taken over, its new holder does the work.
        with held(self.store, lease, self.stalled) as mine, suppress(LeaseLost):
            self._work(partial(mine.check, CHECK_SECONDS), tell)
            # A long-lived engine cleans up after engines that died since it first wrote to the table.
            if self.rounds.due():
                self.give_up_lost()
        return True

    def _work(self, check: Check, tell: Tell) -> None:
        deadline = time.monotonic() + TURN_SECONDS
        while time.monotonic() < deadline:
            batch = self.ledger.pending(self.target, limit=self.destination.batch)
            if not batch:
                return
            with suppress(WritesMoved):
                self._publish(batch, check, tell)

    def _publish(self, batch: Sequence[Entry], check: Check, tell: Tell) -> None:
        """Publish a batch. A write that cannot be read is set aside, and the others go on without it.

        In a batch of several it is not known which write is to blame, so each half is published by itself, in order.
        This is not left to later turns: an attempt may take longer than a turn, and every turn would start with the
        whole batch again. What a half published before an error is found in the table.
        """
        check()
        try:
            outcome = self.destination.consolidate(batch, check)
        except UNREADABLE as error:
            if len(batch) > 1:
                middle = len(batch) // 2
                for half in (batch[:middle], batch[middle:]):
                    self._publish(half, check, tell)
                return
            outcome = Outcome(set_aside={write.write_id: unreadable(write, error) for write in batch})
        faults.point("before-marked")
        self._mark(batch, outcome, tell)
        faults.point("marked")
        self.news.tell()

    def _mark(self, batch: Sequence[Entry], outcome: Outcome, tell: Tell) -> None:
        forgotten = self.ledger.mark_committed(self.target, outcome.committed)
        if forgotten:
            published = [_published(write, outcome) for write in batch if write.write_id in forgotten]
            self.ledger.learn(self.target, batch[0].intent.dataset, published)
        if lost := (*outcome.learned, *forgotten):
            tell(behind(self.target, lost))
        for write in batch:
            if write.write_id in outcome.refused:
                self.ledger.abandon(outcome.as_in_ledger(write), _described(outcome.refused[write.write_id]))
            elif write.write_id in outcome.set_aside:
                self.ledger.set_aside(write, _described(outcome.set_aside[write.write_id]))


def _published(write: Entry, outcome: Outcome) -> Published:
    rows = write.contents.rows if write.contents else 0
    snapshot_id = outcome.committed[write.write_id]
    return Published(write.write_id, write.intent.workflow, snapshot_id, rows, write.number or 0)


def behind(target: str, lost: Sequence[str]) -> str:
    """The warning that a table has writes that the metastore has lost."""
    return (
        f"{BEHIND}: {target} has {len(lost)} writes that the metastore has lost, as after a failover or a "
        f"restored backup ({', '.join(lost[:3])}{', …' if len(lost) > 3 else ''}); they are recorded as committed again"
    )


def _described(error: CatchmentError) -> dict[str, str | bool | None]:
    return {**reason(error), "conflict": isinstance(error, CommitConflict)}


def _error(write: Entry) -> CatchmentError:
    known = write.error or {"code": "write-abandoned", "message": f"{write.write_id} was abandoned"}
    kind = CommitConflict if known.get("conflict") else JobError
    return kind(str(known["message"]), code=str(known["code"]), hint=known.get("hint"))
