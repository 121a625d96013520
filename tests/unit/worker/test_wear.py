"""When a resident engine is worn out, by what is measured of its heap."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from catchment.jvm.heap import HeapUse
from catchment.worker.wear import COMMANDS_PER_SAMPLE, GROWING_SAMPLES, Wear, keeps_growing

MOST = 1000


@pytest.mark.parametrize(
    ("samples", "worn"),
    [
        ([], False),
        ([100, 150, 200, 250, 300], False),  # too few
        ([100, 120, 140, 160, 180, 200], True),
        ([100, 119, 138, 157, 176, 199], False),  # by too little
        ([100, 150, 200, 199, 250, 300], False),  # something was given back
        ([100, 150, 200, 200, 250, 300], False),
        ([400, 100, 120, 140, 160, 180, 200], True),  # only the last ones count
        ([100, 200, 300, 301, 302, 303, 304, 305], False),  # it grew at first, as every new engine does
    ],
)
def test_growth(samples: list[int], worn: bool) -> None:
    assert keeps_growing(samples, MOST) is worn


@dataclass
class Heap:
    """A heap that is as full as a test wants it; a collection removes what is garbage."""

    live: int = 100
    garbage: int = 0
    collected: int = 0

    def measure(self) -> HeapUse:
        return HeapUse(self.live + self.garbage, self.live + self.garbage, MOST, 0.0)

    def collect(self) -> None:
        self.collected += 1
        self.garbage = 0


def test_garbage_is_no_reason() -> None:
    heap = Heap(garbage=800)
    assert not Wear(heap).is_worn_out(0)
    assert heap.garbage == 0


def test_a_full_heap_is_a_reason() -> None:
    assert Wear(Heap(live=501)).is_worn_out(0)


def test_a_heap_that_grows_with_every_command_is_a_reason_long_before_it_is_full() -> None:
    heap = Heap()
    wear, found = Wear(heap), []
    for number in range(1, GROWING_SAMPLES + 1):
        heap.live, heap.garbage = heap.live + 30, 100
        found.append(wear.is_worn_out(number * COMMANDS_PER_SAMPLE))
    assert found == [False] * (GROWING_SAMPLES - 1) + [True]
    assert wear.is_worn_out(GROWING_SAMPLES * COMMANDS_PER_SAMPLE)  # until nobody is in its way


def test_an_engine_that_does_nothing_is_left_alone() -> None:
    heap = Heap()
    wear = Wear(heap)
    for _ in range(2 * GROWING_SAMPLES):
        heap.live += 30
        assert not wear.is_worn_out(COMMANDS_PER_SAMPLE - 1)
    assert heap.collected == 0
