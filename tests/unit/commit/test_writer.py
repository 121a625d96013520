"""What an engine remembers of the tables that it writes: not more than a number of them, and none stalls another."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from catchment.commit.publisher import Check, Outcome
from catchment.commit.writer import MOST_TARGETS, Writer
from catchment.store import open_store
from catchment.store.writes import Entry
from tests.ledgers import ALIVE, Filled

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
def filled(tmp_path: Path) -> Iterator[Filled]:
    with open_store(f"sqlite:///{tmp_path}/metastore.db") as store:
        yield Filled(store)


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
