"""One engine's way into the lake: open, fill a buffer, seal, publish. Safe to repeat after a crash at any point."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from catchment.commit import buffer, faults, fork
from catchment.commit.admission import branch_refusal
from catchment.commit.alone import only_writer
from catchment.commit.consolidate import TableDestination
from catchment.commit.files.hadoop import storage_of
from catchment.commit.files.publishing import Directory
from catchment.commit.files.stage import dataset_of
from catchment.commit.fork import Fork
from catchment.commit.ledger import Ledger
from catchment.commit.model import Base, Conflict, Contents, Intent, Write, WriteMode
from catchment.commit.patience import patiently
from catchment.commit.publish import Publisher
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

    def await_turn(self) -> None:
        """The buffer is full: return when it may be sealed, raise where it is no longer wanted."""
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
    inputs: Mapping[str, str] = field(default_factory=dict)
    """The states of the job's inputs, where a later attempt may ask for them."""


@dataclass(frozen=True)
class _Known:
    """A table that this engine has met. Two objects: a consolidation must not see the refreshes of those who fork."""

    publisher: Publisher
    forked: LakeTable
    forking: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class Writer:
    """Writes to tables and directories for all jobs of one engine."""

    session: SparkSession
    """A session of the writer's own: the catalogs it opens are opened once per engine."""
    store: Store
    owner: str
    """The lease that says that this engine is alive."""
    max_pending: int
    """Sealed writes of one table that may wait; beyond it, writers wait before they write."""
    solitary: frozenset[str] = frozenset()
    """Depots whose catalogs bear one writer of a table at a time."""
    published: Mapping[str, str] = field(default_factory=dict)
    """The published catalogs of depots that have one."""
    _tables: dict[str, _Known] = field(default_factory=dict)
    _directories: dict[str, Publisher] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.store.database)

    def admission(self, depot: str, target: str, who: str) -> AbstractContextManager[None]:
        """The right to write a table: everybody has it, except where the catalog bears one writer at a time."""
        return only_writer(self.store, target, f"{who} on {self.owner}") if depot in self.solitary else nullcontext()

    def write(self, frame: DataFrame, order: Order, listener: Listener) -> Write:
        """Write the frame once, however often this is called with the same write id."""
        return self.seal(frame, order, listener).publish(order.write_id)

    def seal(self, frame: DataFrame, order: Order, listener: Listener) -> Publisher:
        """Fill a buffer and seal it, unless that was done before; returns who can publish it."""
        known, met_before = self._meet(order.target, order.depot, order.namespace, order.table)
        self._admit(known.publisher, listener, met_before=met_before)
        publisher, intent, branch = self._begin(order)

        def fill() -> Contents:
            if (refused := branch_refusal(branch.java, order.target, order.branch)) is not None:
                raise refused
            return buffer.fill(frame, branch, intent.buffer, order.options)

        try:
            self.seal_once(intent, fill, listener)
        finally:
            branch.remove()
        return publisher

    def seal_once(self, intent: Intent, fill: Callable[[], Contents], listener: Listener) -> None:
        """Open a write, fill its buffer and seal it, as far as that was not done before."""
        write = patiently(lambda: self.ledger.open(intent))
        if write.state == "committed":
            listener.warn(f"{write.write_id} was already committed; nothing is written again")
        elif write.state == "open":
            contents = fill()
            listener.await_turn()
            faults.point("before-sealed")
            patiently(lambda: self.ledger.seal(intent, contents))
            faults.point("sealed")

    def directory(self, target: str, listener: Listener) -> Publisher:
        """The publisher of a dataset of plain files, once it is this engine's turn to write there."""
        publisher, met_before = self._meet_directory(target)
        self._admit(publisher, listener, met_before=met_before)
        return publisher

    def publisher_of_files(self, target: str) -> Publisher:
        """The publisher of a dataset of plain files, at once."""
        return self._meet_directory(target)[0]

    def earlier(self, write_id: str, target: str) -> Write | None:
        """The write as an earlier attempt has left it, if that was sealed for this table: it is not computed again."""
        known = patiently(lambda: self.ledger.find(write_id))
        sealed = known is not None and known.state in ("sealed", "committed") and known.intent.target == target
        return known if sealed else None

    def publisher(self, target: str, depot: str, namespace: str, table: str) -> Publisher:
        """The publisher of a table; all threads of an engine share it."""
        return self._meet(target, depot, namespace, table)[0].publisher

    def _meet(self, target: str, depot: str, namespace: str, table: str) -> tuple[_Known, bool]:
        """What is known of a table, and whether this engine knew it already."""
        with self._lock:
            met_before = target in self._tables
            if not met_before:
                forked, published = (LakeTable.load(self.session, depot, namespace, table) for _ in range(2))
                destination = TableDestination(published, self.ledger)
                publisher = Publisher(self.store, self.ledger, target, self.owner, destination)
                self._tables[target] = _Known(publisher, forked)
            return self._tables[target], met_before

    def _meet_directory(self, target: str) -> tuple[Publisher, bool]:
        with self._lock:
            met_before = target in self._directories
            if not met_before:
                destination = Directory(partial(storage_of, self.session), self.ledger)
                self._directories[target] = Publisher(self.store, self.ledger, target, self.owner, destination)
            return self._directories[target], met_before

    def _begin(self, order: Order) -> tuple[Publisher, Intent, Fork]:
        """What the write begins from: the table as it is now."""
        try:
            return self._fork(order)
        except Py4JJavaError:
            # Dropped and made anew since: what is known of the old table leads nowhere.
            with self._lock:
                self._tables.pop(order.target, None)
            return self._fork(order)

    def _fork(self, order: Order) -> tuple[Publisher, Intent, Fork]:
        known, _ = self._meet(order.target, order.depot, order.namespace, order.table)
        with known.forking:
            known.forked.refresh()
            intent = _intent(order, known.forked, self.owner)
            return known.publisher, intent, fork.make(known.forked, intent.buffer)

    def _admit(self, publisher: Publisher, listener: Listener, *, met_before: bool) -> None:
        if not met_before:
            patiently(lambda: recover_what_is_there(publisher, listener))
        self._await_turn(publisher, listener)

    def _await_turn(self, publisher: Publisher, listener: Listener) -> None:
        told = False
        while (waiting := patiently(lambda: self.ledger.count_pending(publisher.target))) >= self.max_pending:
            listener.check()
            if not told:
                listener.warn(
                    f"{publisher.target} has {waiting} sealed writes waiting to be published "
                    f"(max_pending is {self.max_pending}); this write waits for its turn"
                )
                told = True
            # Those who sealed them may be gone: whoever waits publishes, or nobody would.
            if not patiently(publisher.consolidate):
                time.sleep(LOOK_SECONDS)


def recover_what_is_there(publisher: Publisher, listener: Listener) -> None:
    """The first write to a target finishes what engines that are gone have left there.

    Stages of plain files are removed; files of tables are not, because only the history tells which of them are live.
    """
    ledger, target = publisher.ledger, publisher.target
    abandoned = publisher.give_up_lost()
    if abandoned:
        further = "`catchment recover` removes the files" if ledger.leftovers(target) else "their files are removed"
        listener.warn(f"{target}: engines that are gone left {', '.join(abandoned)} unfinished; {further}")
    if stuck := [buffer for _, buffer in ledger.leftovers(target) if dataset_of(buffer)]:
        listener.warn(f"{target}: what lost writes have left in {', '.join(stuck)} could not be removed")
    if ledger.ownerless(target, "sealed"):
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
        order.inputs,
    )
