"""One engine's way into tables: open, fill a buffer, seal, publish. Safe to repeat after a crash at any point."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from catchment.commit import buffer, faults
from catchment.commit.fork import FORKS, Place
from catchment.commit.ledger import Ledger
from catchment.commit.model import Base, Conflict, Intent, Write, WriteMode
from catchment.commit.publish import Publisher
from catchment.commit.recover import abandon_lost
from catchment.commit.table import MAIN, LakeTable
from catchment.store import Store

LOOK_SECONDS = 0.25
"""How often a writer that waits for its turn looks whether it has come."""


class Listener(Protocol):
    """Whoever asked for a write: hears why it takes time, and may want it to stop."""

    def warn(self, text: str) -> None:
        """Hear what a person should know."""
        ...

    def check(self) -> None:
        """Raise where the write is no longer wanted."""
        ...


@dataclass(frozen=True)
class Order:
    """What a job asks for: these rows, into this table, in this way."""

    write_id: str
    workflow: str
    target: str
    depot: str
    namespace: str
    table: str
    mode: WriteMode
    conflict: Conflict = "last-wins"
    branch: str = MAIN
    options: Mapping[str, str] = field(default_factory=dict)
    since: Base | None = None
    """What the job began from, where that is earlier than the write and matters."""


@dataclass(frozen=True)
class Writer:
    """Writes to Iceberg tables for all jobs of one engine."""

    session: SparkSession
    """A session of the writer's own: the catalogs it opens are opened once per engine."""
    store: Store
    owner: str
    """The lease that says that this engine is alive."""
    forks: Path
    max_pending: int
    """Sealed writes of one table that may wait; beyond it, writers wait before they write."""
    _publishers: dict[str, Publisher] = field(default_factory=dict)
    _tables: dict[str, tuple[LakeTable, threading.Lock]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.store.database)

    def write(self, session: SparkSession, frame: DataFrame, order: Order, listener: Listener) -> Write:
        """Write the frame once, however often this is called with the same write id."""
        publisher, met_before = self._known(order)
        if not met_before:
            _recover_what_is_there(publisher, listener)
        self._await_turn(publisher, listener)
        intent, metadata = self._begin(order)
        write = self.ledger.open(intent)
        if write.state == "committed":
            listener.warn(f"{write.write_id} was already committed; nothing is written again")
            return write
        if write.state == "open":
            place = Place(f"{FORKS}{order.depot}", self.forks)
            contents = buffer.fill(session, frame, intent, metadata, place, order.options)
            faults.point("before-sealed")
            self.ledger.seal(intent, contents)
            faults.point("sealed")
        return publisher.publish(order.write_id)

    def publisher(self, target: str, depot: str, namespace: str, table: str) -> Publisher:
        """The publisher of a table; all threads of an engine share it."""
        return self._meet(target, depot, namespace, table)[0]

    def _meet(self, target: str, depot: str, namespace: str, table: str) -> tuple[Publisher, bool]:
        """The publisher of a table, and whether this engine knew the table already."""
        with self._lock:
            known = target in self._publishers
            if not known:
                # Two objects: a consolidation must not see the refreshes of those who fork.
                forked, published = (LakeTable.load(self.session, depot, namespace, table) for _ in range(2))
                self._tables[target] = (forked, threading.Lock())
                self._publishers[target] = Publisher(self.store, self.ledger, target, self.owner, published)
            return self._publishers[target], known

    def _known(self, order: Order) -> tuple[Publisher, bool]:
        """The publisher of the table as it is now, and whether this engine knew that table already."""
        publisher, met_before = self._meet(order.target, order.depot, order.namespace, order.table)
        try:
            self._refresh(order.target)
        except Py4JJavaError:
            # Dropped and made anew since: what is known of the old table leads nowhere.
            with self._lock:
                del self._publishers[order.target], self._tables[order.target]
            return self._meet(order.target, order.depot, order.namespace, order.table)
        return publisher, met_before

    def _refresh(self, target: str) -> None:
        table, lock = self._tables[target]
        with lock:
            table.refresh()

    def _begin(self, order: Order) -> tuple[Intent, Mapping[str, Any]]:
        table, lock = self._tables[order.target]
        with lock:
            table.refresh()
            return _intent(order, table, self.owner), table.metadata()

    def _await_turn(self, publisher: Publisher, listener: Listener) -> None:
        told = False
        while (waiting := self.ledger.count_pending(publisher.target)) >= self.max_pending:
            listener.check()
            if not told:
                listener.warn(
                    f"{publisher.target} has {waiting} sealed writes waiting to be published "
                    f"(max_pending is {self.max_pending}); this write waits for its turn"
                )
                told = True
            # Those who sealed them may be gone: whoever waits publishes, or nobody would.
            if not publisher.consolidate():
                time.sleep(LOOK_SECONDS)


def _recover_what_is_there(publisher: Publisher, listener: Listener) -> None:
    """The first write to a table finishes what engines that are gone have left there; files are not removed."""
    abandoned = abandon_lost(publisher)
    if abandoned:
        listener.warn(
            f"{publisher.target}: engines that are gone left {', '.join(abandoned)} unfinished; "
            "`catchment recover` removes the files"
        )
    if publisher.ledger.ownerless(publisher.target, "sealed"):
        publisher.consolidate()


def _intent(order: Order, table: LakeTable, owner: str) -> Intent:
    # A name of its own for every attempt: two attempts at one write never share a directory.
    name = f"{order.write_id.replace('/', '.')}.{uuid.uuid4().hex[:8]}"
    location = f"{table.data_location}/{name}"
    base = order.since or table.base(order.branch)
    return Intent(
        order.write_id,
        order.workflow,
        order.target,
        order.branch,
        order.mode,
        order.conflict,
        owner,
        location,
        base,
    )
