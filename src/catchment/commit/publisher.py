"""Publish: whoever holds the table's lease consolidates for everybody; the others wait for their row to turn."""

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
"""Raises `LeaseLost` where somebody else took the lease."""
Tell = Callable[[str], None]
"""Hears what a person should know."""


@dataclass
class Outcome:
    """What became of a batch."""

    committed: dict[str, int | None] = field(default_factory=dict)
    """Write id -> snapshot; None where there was nothing to commit, or where there are no snapshots."""
    refused: dict[str, CatchmentError] = field(default_factory=dict)
    """Writes that can never be published."""
    set_aside: dict[str, CatchmentError] = field(default_factory=dict)
    """Writes that could not be published, and that a person has to look at."""
    learned: tuple[str, ...] = ()
    """Writes that the table has and that the ledger had lost."""
    sent: set[str] = field(default_factory=set)
    """The writes of swaps that were sent on the way here: the ledger has them as tried."""
    unsure: set[str] = field(default_factory=set)
    """Those of swaps of which nobody knows what became of them."""

    def left(self, batch: Sequence[Entry]) -> list[Entry]:
        """The writes whose fate is not known yet."""
        known = {*self.committed, *self.refused, *self.set_aside}
        left = [write for write in batch if write.write_id not in known]
        return [replace(write, tried=write.tried or write.write_id in self.unsure) for write in left]

    def as_in_ledger(self, write: Entry) -> Entry:
        """A write of the batch as the ledger has it by now."""
        return replace(write, tried=write.tried or write.write_id in self.sent)


class Destination(Protocol):
    """What publishes the sealed writes of one target, for whoever holds its lease."""

    @property
    def removes_buffers(self) -> bool:
        """Whether `tidy` can remove buffers; otherwise only the table's history tells whether their files are live."""
        ...

    @property
    def batch(self) -> int:
        """How many writes it takes at once."""
        ...

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        """Publish sealed writes in their order; raises `WritesMoved` where somebody else has been at them."""
        ...

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        """Remove those buffers of abandoned writes that can be removed without a look at anything else; says which."""
        ...


BEHIND = "metastore-behind"
TURN_SECONDS = 1.0
"""A holder gives the lease back after this long, even if more is waiting: its own write is long through."""
STALLED_SECONDS = 300.0
"""A consolidation that has not moved for this long hangs; its lease is then left to others."""
LOOK_SECONDS = 0.05
"""How often an engine looks what another one has published."""
NEWS_SECONDS = 1.0
"""How long a writer relies on the thread of its engine that looks for all."""


Into = TypeVar("Into", bound="Destination")


class News:
    """Tells waiting threads that something has happened; none that looked before misses it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.number = 0

    def tell(self) -> None:
        """Something has happened."""
        with self._changed:
            self.number += 1
            self._changed.notify_all()

    def wait(self, heard: int, seconds: float) -> None:
        """Return as soon as there is news beyond number `heard`, or after so many seconds."""
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
    """One thread of an engine consolidates, or looks whether another engine does; the others wait for its news."""
    rounds: Rounds = field(default_factory=Rounds)
    stalled: float = STALLED_SECONDS
    place: str | None = None
    """Where the table lies, if its lease is named after that and not after the target."""

    def publish(self, write_id: str, tell: Tell = log.warning) -> Entry:
        """Return when the write is committed; raises why it is not going to be."""
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
        """Wait for more writes, before anybody takes the lease: until the last one has come, a batch is full, or the
        time is up. A write that others have published meanwhile does not wait.
        """
        last_has_come, end = linger.announce(), time.monotonic() + linger.seconds
        while (left := end - time.monotonic()) > 0 and self._waits(write_id):
            if self.ledger.count_pending(self.target) >= self.destination.batch:
                return
            if last_has_come.wait(min(left, NEWS_SECONDS)):
                return

    def consolidate(self, tell: Tell = log.warning) -> bool:
        """Publish what is sealed; False where somebody else is at it."""
        if not self.leader.acquire(blocking=False):
            return False
        try:
            return self._consolidate(tell)
        finally:
            self.leader.release()
            self.news.tell()

    def give_up_lost(self) -> tuple[str, ...]:
        """Give up the open writes of engines that are gone; what they left goes where nothing has to be asked first."""
        lost = abandon_lost(self.ledger, self.target)
        left = [buffer for _, buffer in self.ledger.leftovers(self.target)]
        self.ledger.forget(self.destination.tidy(left))
        return lost

    def _lead(self, write_id: str, tell: Tell) -> bool:
        """Work or look for all threads of this engine until one's own write is through; False if another one does."""
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
        # Who finds that the lease was taken over leaves the work to whoever took it.
        with held(self.store, lease, self.stalled) as mine, suppress(LeaseLost):
            self._work(partial(mine.check, CHECK_SECONDS), tell)
            # An engine that lives long cleans up after those that died since it met the table.
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

        Of several writes it is not known which one is to blame, so each half is published by itself, in their order.
        That is not left to later turns: an attempt may take longer than a turn, and every turn would begin with all of
        them again. What a half has published before an error came is found in the table.
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
    """The warning that a table has writes which the metastore has lost."""
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
