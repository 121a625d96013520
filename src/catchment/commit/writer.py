"""One engine's way into the lake: open, fill a buffer, seal, publish. Safe to repeat after a crash at any point.

What a buffer is, and how it is published, is the format's business: it gives a `Destination`. Ledger, leases and turns
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
from catchment.store import Store
from catchment.store.ledger import Ledger
from catchment.store.writes import Contents, Entry, Intent

LOOK_SECONDS = 0.25
"""How often a writer that waits for its turn looks whether it has come."""

MOST_TARGETS = 200
"""Tables that an engine remembers. Those that it has not written for longest it meets as if for the first time."""

Into = TypeVar("Into", bound=Destination)


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
    single_writer: frozenset[str] = frozenset()
    """Depots whose catalogs lose commits when two processes write a table at the same time."""
    published: Mapping[str, str] = field(default_factory=dict)
    """The published catalogs of depots that have one."""
    _publishers: dict[str, Publisher[Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def ledger(self) -> Ledger:
        """The ledger of the metastore."""
        return self.store.ledger

    def admission(self, depot: str, target: str, who: str) -> AbstractContextManager[None]:
        """The right to write a table: everybody has it, except where the catalog bears one writer at a time."""
        if depot not in self.single_writer:
            return nullcontext()
        return only_writer(self.store, target, f"{who} on {self.owner}", spark_progress(self.session))

    def publisher(self, target: str, destination: Callable[[], Into], *, place: str | None = None) -> Publisher[Into]:
        """Who publishes what is sealed for a target; all threads of an engine share it."""
        return self._meet(target, destination, place)[0]

    def admitted(
        self, target: str, destination: Callable[[], Into], listener: Listener, *, place: str | None = None
    ) -> Publisher[Into]:
        """The same, once it is this engine's turn to write there; the first to come recovers what others left."""
        publisher, met_before = self._meet(target, destination, place)
        if not met_before:
            recover_what_is_there(publisher, listener)
        self._await_turn(publisher, listener)
        return publisher

    def forget(self, target: str) -> None:
        """Drop what is known of a target: it was dropped and made anew."""
        with self._lock:
            self._publishers.pop(target, None)

    def seal_once(self, intent: Intent, fill: Callable[[], Contents], listener: Listener) -> None:
        """Open a write, fill its buffer and seal it, as far as that was not done before."""
        self.seal_opened(self.ledger.open(intent), fill, listener)

    def seal_opened(self, entry: Entry, fill: Callable[[], Contents], listener: Listener) -> None:
        """Fill the buffer of a write that was just opened and seal it, as far as that was not done before."""
        if entry.state == "committed":
            listener.warn(f"{entry.write_id} was already committed; nothing is written again")
        elif entry.state == "open":
            contents = fill()
            listener.wait_to_seal()
            faults.point("before-sealed")
            self.ledger.seal(entry.intent, contents)
            faults.point("sealed")
            self._linger(entry.intent, listener)

    def _linger(self, intent: Intent, listener: Listener) -> None:
        with self._lock:
            publisher = self._publishers.get(intent.target)
        if publisher is not None and listener.linger.seconds:
            publisher.linger(intent.write_id, listener.linger)

    def close_failed(self, write_id: str, error: CatchmentError) -> bool:
        """Give up a write whose attempt has failed before the seal, so that nobody takes it for that of a lost engine.

        Only buffered ones: of a write that its format commits itself, the format knows what became of it. Says whether
        it was closed now: from then on nobody can seal it, and its files are of no use.
        """
        if isinstance(error, MetastoreUnavailable | EngineLost):
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
        """The write as an earlier attempt has left it, if that was sealed for this table: it is not computed again."""
        known = self.ledger.find(write_id)
        sealed = known is not None and known.state in ("sealed", "committed") and known.intent.target == target
        return known if sealed else None

    def _meet(self, target: str, destination: Callable[[], Into], place: str | None) -> tuple[Publisher[Into], bool]:
        """The publisher of a target, and whether this engine knew it already."""
        with self._lock:
            known = self._publishers.pop(target, None)
            found = known or Publisher(self.store, self.ledger, target, self.owner, destination(), place=place)
            self._publishers[target] = found  # the last one is the one that was used last
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
            # Those who sealed them may be gone: whoever waits publishes, or nobody would.
            if not publisher.consolidate(listener.warn):
                time.sleep(LOOK_SECONDS)


def recover_what_is_there(publisher: Publisher[Any], listener: Listener) -> None:
    """The first write to a target finishes what engines that are gone have left there.

    Buffers go where the format can remove them without asking anybody; a table's files stay until `catchment recover`
    has asked the table's history which of them are live.
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
