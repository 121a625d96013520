"""A sealed write waits for others before its table is published, and no longer than it is worth."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from catchment.commit.linger import Linger
from catchment.commit.publisher import Check, Outcome, Publisher
from catchment.store.writes import Entry
from tests.ledgers import ALIVE, TARGET, Filled

LONG = 3600.0
"""Seconds; a test that waits for its end fails by its own limit."""


@dataclass(frozen=True)
class Table:
    """A table that takes two writes in one commit."""

    batch: int = 2
    removes_buffers: bool = False

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        return Outcome({write.write_id: 7 for write in batch})

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        return ()


@pytest.fixture
def publisher(filled: Filled) -> Publisher[Table]:
    return Publisher(filled.store, filled.ledger, TARGET, ALIVE, Table())


def called() -> threading.Event:
    """What the run answers if nobody else is to come."""
    event = threading.Event()
    event.set()
    return event


def test_the_wait_ends_when_nobody_else_is_to_come(filled: Filled, publisher: Publisher[Table]) -> None:
    filled.seal("r/a/out")
    publisher.linger("r/a/out", Linger(LONG, called))
    assert filled.states("r/a/out") == ["sealed"]


def test_the_wait_ends_after_its_time(filled: Filled, publisher: Publisher[Table]) -> None:
    filled.seal("r/a/out")
    publisher.linger("r/a/out", Linger(0.01))
    assert filled.states("r/a/out") == ["sealed"]


def test_the_wait_ends_when_one_commit_can_take_no_more(filled: Filled, publisher: Publisher[Table]) -> None:
    for name in "ab":
        filled.seal(f"r/{name}/out")
    publisher.linger("r/a/out", Linger(LONG))


def test_the_wait_ends_when_somebody_has_published_the_write(filled: Filled, publisher: Publisher[Table]) -> None:
    filled.seal("r/a/out")
    begun = threading.Event()

    def announce() -> threading.Event:
        begun.set()
        return threading.Event()

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(publisher.linger, "r/a/out", Linger(LONG, announce))
        assert begun.wait(60)
        filled.ledger.mark_committed(TARGET, {"r/a/out": 7})
        waiting.result(60)


def test_nobody_holds_the_lease_of_the_table_meanwhile(filled: Filled, publisher: Publisher[Table]) -> None:
    filled.seal("r/a/out")
    seen = []

    def announce() -> threading.Event:
        seen.append(filled.store.leases.holder(f"table/{TARGET}"))
        return called()

    publisher.linger("r/a/out", Linger(LONG, announce))
    assert seen == [None]
