"""What an engine remembers of the tables that it writes: not more than a number of them, and none stalls another."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from catchment.commit.linger import AT_ONCE, Linger
from catchment.commit.publisher import Check, Outcome
from catchment.commit.writer import MOST_TARGETS, Writer
from catchment.errors import Cancelled
from catchment.store.writes import Contents, Entry
from tests.ledgers import ALIVE, Filled, contents, intent

SECONDS = 60.0
"""How long a test waits for what has to happen; it fails after that."""


def opened() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@dataclass(frozen=True)
class Table:
    """A table that publishes once its gate is open."""

    gate: threading.Event = field(default_factory=opened)
    reached: threading.Event = field(default_factory=threading.Event)
    batch: int = 2
    removes_buffers: bool = False

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        self.reached.set()
        assert self.gate.wait(SECONDS)
        return Outcome({write.write_id: 7 for write in batch})

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        return ()


@pytest.fixture
def writer(filled: Filled) -> Writer:
    return Writer(cast("Any", None), filled.store, ALIVE, max_pending=10)


def test_an_engine_remembers_the_tables_that_it_wrote_last(writer: Writer) -> None:
    met = {number: writer.publisher(f"t{number}", Table) for number in range(MOST_TARGETS)}
    assert writer.publisher("t0", Table) is met[0]
    for number in range(MOST_TARGETS, MOST_TARGETS + 5):
        writer.publisher(f"t{number}", Table)
    assert writer.publisher("t0", Table) is met[0]  # used again meanwhile
    assert writer.publisher("t1", Table) is not met[1]
    assert len(writer._publishers) == MOST_TARGETS


def test_a_table_that_takes_its_time_stalls_no_other(writer: Writer, filled: Filled) -> None:
    slow = Table(gate=threading.Event())
    filled.seal("r/slow/out", target="slow")
    filled.seal("r/quick/out", target="quick")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(writer.publisher("slow", lambda: slow).publish, "r/slow/out")
        assert slow.reached.wait(SECONDS)
        assert writer.publisher("quick", Table).publish("r/quick/out").state == "committed"
        assert filled.states("r/slow/out") == ["sealed"]
        slow.gate.set()
        assert waiting.result(SECONDS).state == "committed"


@dataclass
class Asker:
    """Somebody who may have cancelled the job."""

    cancelled: bool = False
    linger: Linger = AT_ONCE

    def warn(self, text: str) -> None:
        pass

    def check(self) -> None:
        if self.cancelled:
            raise Cancelled("the job was cancelled")

    def wait_to_seal(self) -> None:
        pass


def test_a_cancelled_job_is_not_sealed(writer: Writer, filled: Filled) -> None:
    asker = Asker()

    def fill() -> Contents:
        asker.cancelled = True
        return contents()

    with pytest.raises(Cancelled):
        writer.seal_once(intent("r/j/o", owner=ALIVE), fill, asker)
    known = filled.store.ledger.find("r/j/o")
    assert known is not None
    assert known.state == "open"


def test_an_attempt_that_was_overtaken_in_its_own_engine_gives_up_nothing(writer: Writer, filled: Filled) -> None:
    """A client was killed and its run resumed on the same engine: the first attempt ends while the second fills."""
    filling, may_fill = threading.Event(), threading.Event()

    def slow_fill() -> Contents:
        filling.set()
        assert may_fill.wait(SECONDS)
        return contents()

    writer.open(intent("r/j/o", owner=ALIVE, buffer="first"))
    with ThreadPoolExecutor(1) as threads:
        second = intent("r/j/o", owner=ALIVE, buffer="second")
        resumed = threads.submit(writer.seal_once, second, slow_fill, Asker())
        assert filling.wait(SECONDS)
        assert not writer.close_failed("r/j/o", Cancelled("the job was cancelled"))
        may_fill.set()
        resumed.result(SECONDS)
    known = filled.store.ledger.find("r/j/o")
    assert known is not None
    assert (known.state, known.intent.buffer) == ("sealed", "second")


def test_writes_that_are_over_are_forgotten(writer: Writer) -> None:
    writer.seal_once(intent("r/j/o", owner=ALIVE), contents, Asker())
    writer.open(intent("r/j/merge", owner=ALIVE, buffered=False))
    assert writer._openers == {}


def test_an_attempt_that_fails_gives_up_its_own_write(writer: Writer, filled: Filled) -> None:
    writer.open(intent("r/j/o", owner=ALIVE))
    assert writer.close_failed("r/j/o", Cancelled("the job was cancelled"))
    known = filled.store.ledger.find("r/j/o")
    assert known is not None
    assert known.state == "abandoned"
