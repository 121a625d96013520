"""Tells when a resident engine is worn out: its heap stays full, or keeps growing, although it runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Spark is imported after the first heartbeat of an engine
    from catchment.jvm.heap import HeapUse

FULL = 0.5
"""An engine of whose heap so much is in use while it runs nothing is replaced."""
GROWING_SAMPLES = 6
"""So many measurements in a row have to be larger than the one before."""
GROWN = 0.1
"""The share of the whole heap that the live part has to grow by meanwhile; the caches of a new engine need less."""
COMMANDS_PER_SAMPLE = 25
"""How many commands an engine answers between two measurements: growth with time alone is not wear."""


class Collects(Protocol):
    """A heap that can be measured and cleaned up."""

    def measure(self) -> HeapUse:
        """What the heap holds now, and what it held after the last collection."""

    def collect(self) -> None:
        """Collect all garbage now."""


def keeps_growing(samples: Sequence[int], most: int) -> bool:
    """Whether the live part of a heap, as measured after full collections, has grown each time and by much."""
    last = samples[-GROWING_SAMPLES:]
    if len(last) < GROWING_SAMPLES:
        return False
    return all(one < other for one, other in pairwise(last)) and last[-1] - last[0] >= GROWN * most


class Wear:
    """Follows the heap of an engine while it runs nothing."""

    def __init__(self, heap: Collects) -> None:
        self._heap = heap
        self._samples: list[int] = []
        self._answered = 0

    def is_worn_out(self, answered: int) -> bool:
        """Whether the engine has to be replaced; `answered` is how many commands it has answered so far."""
        use = self._heap.measure()
        if use.live > FULL * use.most or answered - self._answered >= COMMANDS_PER_SAMPLE:
            use = self._sample(answered)
        return use.live > FULL * use.most or keeps_growing(self._samples, use.most)

    def _sample(self, answered: int) -> HeapUse:
        # A collection of its own: what a partial one leaves grows by itself until the next full one.
        self._heap.collect()
        use = self._heap.measure()
        if answered - self._answered >= COMMANDS_PER_SAMPLE:
            self._samples = [*self._samples, use.live][-GROWING_SAMPLES:]
            self._answered = answered
        return use
