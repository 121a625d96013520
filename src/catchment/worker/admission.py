"""Admits jobs to an engine as its memory allows: it takes what its heap can hold, and the rest waits for its turn."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from catchment.errors import Cancelled
from catchment.jvm.heap import HeapUse

LIMIT = 0.65
"""The share of the heap that may be in use. A collector that keeps its generations apart cannot fill much more."""
UNKNOWN_BYTES = 32 * 2**20
"""What a job is taken to need until its stages have run for SETTLE_SECONDS; then the heap shows what it needs."""
SETTLE_SECONDS = 5.0
STAGELESS_SECONDS = 60.0
"""The same for a job without a stage: on a busy machine it may still be planned, and a stream may wait for files."""
SMALL_BYTES = UNKNOWN_BYTES // 4
"""The same, once SMALL_JOBS in a row have ended and the heap was never full meanwhile: they are small here."""
SMALL_JOBS = 16
COLLECT_SECONDS = 10.0
"""A full collection costs a pause: while jobs wait, one is asked for at most this often."""
POLL_SECONDS = 0.2


class Measures(Protocol):
    """Where the gate learns how full the heap is."""

    def measure(self) -> HeapUse: ...

    def collect(self) -> None: ...


@dataclass(frozen=True)
class Full:
    """Why a job has to wait."""

    heap: HeapUse
    running: int


@dataclass(eq=False)
class Place:
    """The place of one job in the memory of its engine."""

    admitted: float = 0.0
    stages_since: float | None = None
    """When Spark was first seen at one of its stages."""

    def see_stages(self, now: float) -> None:
        """Note that Spark runs a stage of the job."""
        self.stages_since = self.stages_since or now

    def is_settled(self, now: float) -> bool:
        """Whether the heap shows what the job needs."""
        if self.stages_since is None:
            return now - self.admitted >= STAGELESS_SECONDS
        return now - self.stages_since >= SETTLE_SECONDS


class MemoryGate:
    """Lets jobs in, first come, first served, while the heap has room for one more. One may always run."""

    def __init__(self, heap: Measures, clock: Callable[[], float] = time.monotonic) -> None:
        self._heap = heap
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: deque[Place] = deque()
        self._running: set[Place] = set()
        self._collected: float | None = None
        self._last: HeapUse | None = None
        self._ended = 0
        """How many jobs have ended since the heap was last full."""

    @contextmanager
    def admitted(
        self, cancelled: threading.Event, on_wait: Callable[[Full], None], on_admission: Callable[[float], None]
    ) -> Iterator[Place]:
        """Hold a place while the context lasts. Reports if there is none yet, and how long it took to get one."""
        place = Place()
        try:
            if full := self._enter(place):
                on_wait(full)
                on_admission(self._wait(place, cancelled))
            yield place
        finally:
            self._leave(place)

    def _enter(self, place: Place) -> Full | None:
        with self._changed:
            self._waiting.append(place)
            if self._takes(place):
                return None
            # Whoever is ahead has measured; with nobody ahead, this job has.
            return Full(self._last or self._heap.measure(), len(self._running))

    def _wait(self, place: Place, cancelled: threading.Event) -> float:
        began = self._clock()
        with self._changed:
            while not self._takes(place):
                if cancelled.is_set():
                    raise Cancelled("the job was cancelled while it waited for memory")
                self._changed.wait(POLL_SECONDS)
        return self._clock() - began

    def _leave(self, place: Place) -> None:
        with self._changed:
            if place in self._waiting:
                self._waiting.remove(place)
            if place in self._running:
                self._running.remove(place)
                self._ended += 1
            self._changed.notify_all()

    def _takes(self, place: Place) -> bool:
        if self._waiting[0] is not place or (self._running and not self._has_room()):
            return False
        self._waiting.popleft()
        place.admitted = self._clock()
        self._running.add(place)
        self._changed.notify_all()
        return True

    def _has_room(self) -> bool:
        """Whether one more job fits beside those that run and those whose needs are not known yet."""
        now = self._clock()
        unknown = sum(not each.is_settled(now) for each in self._running)
        needed = (unknown + 1) * (SMALL_BYTES if self._ended >= SMALL_JOBS else UNKNOWN_BYTES)
        heap = self._last = self._heap.measure()
        if heap.used + needed <= LIMIT * heap.most:
            return True
        if self._may_collect(now, heap, needed):
            self._collected = now
            self._heap.collect()
            heap = self._last = self._heap.measure()
        if heap.live + SMALL_BYTES > LIMIT * heap.most:
            self._ended = 0
        # What was measured before the newest jobs began says nothing about them.
        return heap.age < SETTLE_SECONDS and heap.live + needed <= LIMIT * heap.most

    def _may_collect(self, now: float, heap: HeapUse, needed: int) -> bool:
        useful = heap.age >= SETTLE_SECONDS or heap.live + needed > LIMIT * heap.most
        return useful and (self._collected is None or now - self._collected >= COLLECT_SECONDS)
