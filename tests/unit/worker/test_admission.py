"""The gate in front of an engine's jobs, with a heap that the test fills and a clock that it sets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from catchment.errors import Cancelled
from catchment.jvm.heap import HeapUse
from catchment.worker.admission import (
    COLLECT_SECONDS,
    LIMIT,
    SETTLE_SECONDS,
    SMALL_JOBS,
    STAGELESS_SECONDS,
    UNKNOWN_BYTES,
    Full,
    MemoryGate,
    Place,
)
from tests.concurrency.waiting import until

MOST = 100 * UNKNOWN_BYTES
"""So that the sizes here are percent of the heap, each as much as a job is taken to need at first."""
ROOM = int(LIMIT * 100)
"""How many such shares may be in use."""


@dataclass
class Filled:
    """A heap that holds what the test says."""

    live: int = 0
    garbage: int = 0
    age: float = 0.0
    collections: int = 0

    def measure(self) -> HeapUse:
        used = self.live + self.garbage
        return HeapUse(used * UNKNOWN_BYTES, self.live * UNKNOWN_BYTES, MOST, self.age)

    def collect(self) -> None:
        self.collections += 1
        self.garbage, self.age = 0, 0.0


@dataclass
class Entrance:
    """A gate, and the jobs before and behind it."""

    heap: Filled = field(default_factory=Filled)
    now: float = 1000.0
    inside: list[str] = field(default_factory=list)
    waited: dict[str, Full] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate = MemoryGate(self.heap, lambda: self.now)
        self._ends: dict[str, threading.Event] = {}
        self._cancels: dict[str, threading.Event] = {}
        self._places: dict[str, Place] = {}
        self._threads: list[threading.Thread] = []

    def come(self, *names: str) -> None:
        """Jobs come one after the other; returns when each of them is in or knows that it has to wait."""
        for name in names:
            self._ends[name], self._cancels[name] = threading.Event(), threading.Event()
            self._threads.append(threading.Thread(target=self._job, args=(name,), daemon=True))
            self._threads[-1].start()
            until(lambda name=name: name in self.inside or name in self.waited)  # type: ignore[misc]

    def _job(self, name: str) -> None:
        try:
            with self.gate.admitted(
                self._cancels[name], lambda full: self.waited.update({name: full}), lambda seconds: None
            ) as self._places[name]:
                self.inside.append(name)
                self._ends[name].wait()
                self.inside.remove(name)
        except Cancelled:
            self.stopped.append(name)

    def begin_stages(self, *names: str) -> None:
        for name in names:
            self._places[name].see_stages(self.now)

    def end(self, name: str) -> None:
        self._ends[name].set()
        until(lambda: name not in self.inside)

    def cancel(self, name: str) -> None:
        self._cancels[name].set()
        until(lambda: name in self.stopped)

    def close(self) -> None:
        self.heap.live = self.heap.garbage = 0
        self.now += STAGELESS_SECONDS
        for end in self._ends.values():
            end.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def entrance() -> Iterator[Entrance]:
    entrance = Entrance()
    yield entrance
    entrance.close()


def test_jobs_that_fit_do_not_wait(entrance: Entrance) -> None:
    entrance.come(*"abcdefgh")
    assert (len(entrance.inside), entrance.waited, entrance.heap.collections) == (8, {}, 0)


def test_a_job_waits_while_the_heap_is_full_and_goes_on_when_it_is_not(entrance: Entrance) -> None:
    entrance.come("a")
    entrance.heap.live = ROOM
    entrance.come("b")
    assert entrance.waited["b"] == Full(HeapUse(ROOM * UNKNOWN_BYTES, ROOM * UNKNOWN_BYTES, MOST, 0.0), 1)
    entrance.heap.live = 0
    until(lambda: entrance.inside == ["a", "b"])


def test_one_job_runs_however_full_the_heap_is(entrance: Entrance) -> None:
    entrance.heap.live = 100
    entrance.come("a", "b")
    assert entrance.inside == ["a"]
    entrance.end("a")
    until(lambda: entrance.inside == ["b"])


def test_jobs_go_in_as_they_came(entrance: Entrance) -> None:
    entrance.heap.live = 100
    entrance.come(*"abcd")
    for name in "abcd":
        until(lambda name=name: entrance.inside == [name])  # type: ignore[misc]
        entrance.end(name)


def test_of_jobs_that_come_at_once_only_as_many_begin_as_a_share_of_the_heap_is_left_for(entrance: Entrance) -> None:
    entrance.heap.live = ROOM - 3
    entrance.come(*"abcde")
    assert entrance.inside == ["a", "b", "c"]
    entrance.begin_stages("a", "b", "c")
    entrance.now += SETTLE_SECONDS  # what those three need is in the heap by now
    until(lambda: len(entrance.inside) == 5)


def test_what_a_job_needs_is_not_known_before_its_stages_run(entrance: Entrance) -> None:
    entrance.heap.live = ROOM - 2
    entrance.come("a", "b")
    entrance.begin_stages("a")
    entrance.now += SETTLE_SECONDS  # a machine so busy that the second has not begun
    entrance.come("c", "d")
    assert (entrance.inside, list(entrance.waited)) == (["a", "b", "c"], ["d"])


def test_a_job_without_stages_does_not_keep_others_out_for_ever(entrance: Entrance) -> None:
    entrance.heap.live = ROOM - 1
    entrance.come("a", "b")
    assert entrance.inside == ["a"]
    entrance.now += STAGELESS_SECONDS
    until(lambda: entrance.inside == ["a", "b"])


def test_after_many_small_jobs_more_begin_at_once_until_the_heap_is_full(entrance: Entrance) -> None:
    for number in range(SMALL_JOBS):
        entrance.come(f"small-{number}")
        entrance.end(f"small-{number}")
    entrance.heap.live = ROOM - 3
    entrance.come(*"abcdefghijklm")
    assert (len(entrance.inside), list(entrance.waited)) == (12, ["m"])
    entrance.heap.live = ROOM
    until(lambda: entrance.gate._ended == 0)
    entrance.heap.live = ROOM - 3
    for name in "abcdefghij":
        entrance.end(name)
    until(lambda: entrance.inside == ["k", "l", "m"])
    entrance.come("n")
    assert "n" in entrance.waited


def test_garbage_keeps_nobody_out(entrance: Entrance) -> None:
    entrance.come("a")
    entrance.heap.garbage = 100
    entrance.come("b")
    assert (entrance.waited, entrance.heap.collections) == ({}, 0)  # a recent collection has left nothing


def test_where_nobody_knows_how_much_is_garbage_a_collection_tells(entrance: Entrance) -> None:
    entrance.come("a")
    entrance.heap.garbage, entrance.heap.age = 100, SETTLE_SECONDS
    entrance.come("b")
    assert (entrance.waited, entrance.heap.collections) == ({}, 1)


def test_collections_are_asked_for_rarely(entrance: Entrance) -> None:
    entrance.come("a")
    entrance.heap.live = 100
    entrance.come("b", "c")
    assert entrance.heap.collections == 1
    entrance.now += COLLECT_SECONDS
    until(lambda: entrance.heap.collections == 2)
    assert entrance.inside == ["a"]


def test_a_job_that_waits_can_be_cancelled_and_those_behind_it_move_up(entrance: Entrance) -> None:
    entrance.heap.live = 100
    entrance.come("a", "b", "c")
    entrance.cancel("b")
    entrance.end("a")
    until(lambda: entrance.inside == ["c"])


def test_a_heap_that_cannot_be_measured_leaves_nobody_waiting(entrance: Entrance) -> None:
    class Gone(Filled):
        def measure(self) -> HeapUse:
            raise ConnectionError("Java has ended")

    gate = MemoryGate(Gone())
    with gate.admitted(threading.Event(), print, print):
        for _ in range(2):
            with pytest.raises(ConnectionError), gate.admitted(threading.Event(), print, print):
                pass
    assert not gate._waiting
