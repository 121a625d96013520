"""How one engine writes to the lake: open, fill a buffer, seal, publish. Safe to repeat after a crash at any point.

What a buffer is and how it is published is up to the format, which provides a `Destination`. Ledger, leases and turns
are the same for every format.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from pyspark.sql import SparkSession

from catchment.commit import faults
from catchment.commit.abandonment import reason
from catchment.commit.leases import only_writer
from catchment.commit.listener import Listener
from catchment.commit.publisher import Destination, Publisher
from catchment.commit.spark_progress import spark_progress
from catchment.errors import CatchmentError, EngineLost, MetastoreUnavailable
from catchment.plan.model import Dataset
from catchment.store import Store
from catchment.store.ledger import Ledger
from catchment.store.writes import Contents, Entry, Intent

LOOK_SECONDS = 0.25
"""How often a waiting writer checks whether it is its turn."""

MOST_TARGETS = 200
"""The most tables that an engine remembers. It forgets the least recently written ones first."""

Into = TypeVar("Into", bound=Destination)


@dataclass(frozen=True)
class Writer:
    """Writes to tables and directories for all jobs of one engine."""

    session: SparkSession
    """A session of the writer's own, so that its catalogs are opened once per engine."""
    store: Store
    owner: str
    """The lease that marks this engine as alive."""
    max_pending: int
    """The most sealed writes of one table that may be pending; beyond that, writers wait before they write."""
    single_writer: Mapping[str, str] = field(default_factory=dict)
    """Depots whose catalogs lose commits when two processes write a table at the same time, and their locations."""
    published: Mapping[str, str] = field(default_factory=dict)
    """The published catalog of each depot that has one."""
    _publishers: dict[str, Publisher[Any]] = field(default_factory=dict)
    _openers: dict[str, int] = field(default_factory=dict)
    """The thread that opened each buffered write last."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def ledger(self) -> Ledger:
        """The ledger of the metastore."""
        return self.store.ledger

    def admission(self, dataset: Dataset, who: str) -> AbstractContextManager[None]:
        """The right to write a table: exclusive if its catalog supports only one writer at a time, else free."""
        if dataset.depot not in self.single_writer:
            return nullcontext()
        # Not the address: another project may have another name for the depot.
        place = f"{self.single_writer[dataset.depot]}/{dataset.namespace}/{dataset.table}"
        return only_writer(self.store, dataset.target, place, f"{who} on {self.owner}", spark_progress(self.session))

    def publisher(self, target: str, destination: Callable[[], Into], *, place: str | None = None) -> Publisher[Into]:
        """The publisher of a target's sealed writes; all threads of an engine share it."""
        return self._meet(target, destination, place)[0]

    def admitted(
        self, target: str, destination: Callable[[], Into], listener: Listener, *, place: str | None = None
    ) -> Publisher[Into]:
        """The publisher, once it is this engine's turn to write; the engine's first write recovers what others left."""
        publisher, met_before = self._meet(target, destination, place)
        if not met_before:
            recover_what_is_there(publisher, listener)
        self._await_turn(publisher, listener)
        return publisher

    def forget(self, target: str) -> None:
        """Forget a target that was dropped or created again."""
        with self._lock:
            self._publishers.pop(target, None)

    def open(self, intent: Intent) -> Entry:
        """Begin a write. If two attempts in one engine open the same write, it belongs to the later one."""
        if intent.buffered:
            with self._lock:
                self._openers[intent.write_id] = threading.get_ident()
        return self.ledger.open(intent)

    def seal_once(self, intent: Intent, fill: Callable[[], Contents], listener: Listener) -> None:
        """Open a write, fill its buffer and seal it, skipping what an earlier attempt has done."""
        self.seal_opened(self.open(intent), fill, listener)

    def seal_opened(self, entry: Entry, fill: Callable[[], Contents], listener: Listener) -> None:
        """Fill the buffer of a write that was just opened and seal it, unless an earlier attempt has done so."""
        if entry.state == "committed":
            listener.warn(f"{entry.write_id} was already committed; nothing is written again")
        elif entry.state == "open":
            contents = fill()
            listener.wait_to_seal()
            # The last chance to stop: the user who cancelled the job may have started another run already.
            listener.check()
            faults.point("before-sealed")
            self.ledger.seal(entry.intent, contents)
            faults.point("sealed")
            self._linger(entry.intent, listener)
        self._leave(entry.write_id)

    def _leave(self, write_id: str) -> bool:
        """End this attempt's claim to a write; False if the write belongs to another attempt in this engine."""
        with self._lock:
            is_ours = self._openers.get(write_id, threading.get_ident()) == threading.get_ident()
            if is_ours:
                self._openers.pop(write_id, None)
            return is_ours

    def _linger(self, intent: Intent, listener: Listener) -> None:
        with self._lock:
            publisher = self._publishers.get(intent.target)
        if publisher is not None and listener.linger.seconds:
            publisher.linger(intent.write_id, listener.linger)

    def close_failed(self, write_id: str, error: CatchmentError) -> bool:
        """Abandon a write whose attempt failed before the seal, so that it does not look like that of a lost engine.

        Only buffered writes: if a format commits a write itself, only the format knows what became of it. Returns
        whether the write was closed now: from then on it cannot be sealed, and its files are useless.
        """
        if not self._leave(write_id) or isinstance(error, MetastoreUnavailable | EngineLost):
            return False  # it cannot be closed, or it belongs to another attempt
        with suppress(MetastoreUnavailable):  # the first error is the one to report
            known = self.ledger.find(write_id)
            if known is None or known.state != "open" or known.intent.owner != self.owner or not known.intent.buffered:
                return False
            closed = self.ledger.abandon(known, reason(error))
            with self._lock:
                publisher = self._publishers.get(known.intent.target)
            if closed and publisher is not None:
                self.ledger.forget(publisher.destination.tidy([known.intent.buffer]))
            return closed
        return False

    def earlier(self, write_id: str, target: str) -> Entry | None:
        """The write of an earlier attempt, if that attempt sealed it for this table: it is not computed again."""
        known = self.ledger.find(write_id)
        sealed = known is not None and known.state in ("sealed", "committed") and known.intent.target == target
        return known if sealed else None

    def _meet(self, target: str, destination: Callable[[], Into], place: str | None) -> tuple[Publisher[Into], bool]:
        """The publisher of a target, and whether this engine already knew the target."""
        with self._lock:
            known = self._publishers.pop(target, None)
            found = known or Publisher(self.store, self.ledger, target, self.owner, destination(), place=place)
            self._publishers[target] = found  # inserted again, so that the most recently used one comes last
            if len(self._publishers) > MOST_TARGETS:
                del self._publishers[next(iter(self._publishers))]
            return cast("Publisher[Into]", found), known is not None

    def _await_turn(self, publisher: Publisher[Any], listener: Listener) -> None:
        told = False
        while (waiting := self.ledger.count_pending(publisher.target)) >= self.max_pending:
            listener.check()
            if not told:
                listener.warn(
                    f"{publisher.target} has {waiting} sealed writes waiting to be published "
                    f"(max_pending is {self.max_pending}); this write waits for its turn"
                )
                told = True
            # The engines that sealed them may be lost, so a waiting writer publishes them itself.
            if not publisher.consolidate(listener.warn):
                time.sleep(LOOK_SECONDS)


def recover_what_is_there(publisher: Publisher[Any], listener: Listener) -> None:
    """Finish what lost engines have left at a target; called before an engine's first write there.

    Buffers are removed if the format can do so by itself; a table's files stay until `catchment recover` has looked in
    the table's history for those that are live.
    """
    ledger, target = publisher.ledger, publisher.target
    abandoned = publisher.give_up_lost()
    left = [buffer for _, buffer in ledger.leftovers(target)]
    if abandoned:
        further = "; `catchment recover` removes the files" if left else ""
        listener.warn(f"{target}: engines that are gone left {', '.join(abandoned)} unfinished{further}")
    if left and publisher.destination.removes_buffers:
        listener.warn(f"{target}: what lost writes have left in {', '.join(left)} could not be removed")
    if ledger.ownerless(target, "sealed"):
        publisher.consolidate(listener.warn)
