"""One engine's way into tables: open, fill a buffer, seal, publish. Safe to repeat after a crash at any point."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import buffer, faults
from catchment.commit.ledger import Ledger
from catchment.commit.model import Base, Conflict, Intent, Write, WriteMode
from catchment.commit.publish import Publisher
from catchment.commit.table import MAIN, LakeTable
from catchment.store import Store

MAX_PENDING = 1000
"""Sealed writes of one table that may wait; beyond it, writers wait before they write."""


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
    max_pending: int = MAX_PENDING
    _publishers: dict[str, Publisher] = field(default_factory=dict)
    _tables: dict[str, tuple[LakeTable, threading.Lock]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.store.database)

    def write(self, session: SparkSession, frame: DataFrame, order: Order, tell: Callable[[str], None]) -> Write:
        """Write the frame once, however often this is called with the same write id."""
        self._await_turn(order.target, tell)
        publisher = self.publisher(order)
        intent, metadata = self._begin(order, publisher)
        write = self.ledger.open(intent)
        if write.state == "committed":
            return write
        if write.state == "open":
            contents = buffer.fill(session, frame, intent, metadata, forks=self.forks, options=order.options)
            faults.point("before-sealed")
            self.ledger.seal(intent, contents)
            faults.point("sealed")
        return publisher.publish(order.write_id)

    def publisher(self, order: Order) -> Publisher:
        """The publisher of a table; all threads of an engine share it."""
        with self._lock:
            if order.target not in self._publishers:
                # Two objects: a consolidation must not see the refreshes of those who fork.
                forked, published = self._load(order), self._load(order)
                self._tables[order.target] = (forked, threading.Lock())
                publisher = Publisher(self.store, self.ledger, order.target, self.owner, published)
                self._publishers[order.target] = publisher
            return self._publishers[order.target]

    def _begin(self, order: Order, publisher: Publisher) -> tuple[Intent, Mapping[str, Any]]:
        table, lock = self._tables[publisher.target]
        with lock:
            table.refresh()
            return _intent(order, table, self.owner), table.metadata()

    def _load(self, order: Order) -> LakeTable:
        return LakeTable.load(self.session, order.depot, order.namespace, order.table)

    def _await_turn(self, target: str, tell: Callable[[str], None]) -> None:
        told = False
        while (waiting := self.ledger.count_pending(target)) >= self.max_pending:
            if not told:
                tell(f"{target} has {waiting} sealed writes waiting to be published; this write waits for its turn")
                told = True
            time.sleep(0.25)


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
