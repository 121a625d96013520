"""A consolidator that hangs does not keep a table from everybody else for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from catchment.commit.leases import Right, only_writer, table_lease
from catchment.commit.linger import AT_ONCE
from catchment.commit.publisher import Check, Outcome, Publisher
from catchment.errors import CommitConflict, LeaseLost
from catchment.store import Store
from catchment.store.writes import Entry
from tests.contract.store.test_holding import PATIENCE, wait_until
from tests.ledgers import TARGET, Filled


@dataclass
class Gated:
    """A destination that stands still until its gate is opened, as a call over a dead connection does."""

    gate: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)
    refused: list[LeaseLost] = field(default_factory=list)
    removes_buffers: bool = False
    batch: int = 10

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        self.reached.set()
        assert self.gate.wait(PATIENCE)
        try:
            check()
        except LeaseLost as lost:
            self.refused.append(lost)
            raise
        return Outcome({write.write_id: 1 for write in batch})

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        return ()


def publisher(filled: Filled, owner: str, destination: Gated, stalled: float) -> Publisher[Gated]:
    return Publisher(filled.store, filled.ledger, TARGET, owner, destination, stalled=stalled)


def test_others_take_over_from_a_holder_that_hangs(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("leases", "publisher"):
        monkeypatch.setattr(f"catchment.commit.{module}.LEASE_SECONDS", 0.3)
    monkeypatch.setattr("catchment.commit.publisher.CHECK_SECONDS", 0.0)
    write = filled.seal("r/j/1")
    hanging, working = Gated(), Gated()
    working.gate.set()
    with ThreadPoolExecutor(1) as pool:
        hung = pool.submit(publisher(filled, "engine/hung", hanging, stalled=0.1).consolidate)
        assert hanging.reached.wait(PATIENCE)
        other = publisher(filled, "engine/other", working, stalled=PATIENCE)
        wait_until(lambda: other.consolidate() and filled.states(write.write_id) == ["committed"])
        # While the other one holds the lease, or has given it back, the first one may change nothing more.
        hanging.gate.set()
        assert hung.result(PATIENCE)
    assert len(hanging.refused) == 1


def owner_of(store: Store, name: str) -> str | None:
    holder = store.leases.holder(name)
    return holder.owner if holder else None


class Patient:
    """A writer that waits, and has nothing to say."""

    linger = AT_ONCE

    def warn(self, text: str) -> None: ...

    def check(self) -> None: ...

    def wait_to_seal(self) -> None: ...


@pytest.mark.parametrize("right", ["table", "rows", "published"])
def test_others_take_over_from_a_statement_that_hangs(
    filled: Filled, monkeypatch: pytest.MonkeyPatch, right: Right
) -> None:
    monkeypatch.setattr("catchment.commit.leases.LEASE_SECONDS", 0.3)
    monkeypatch.setattr("catchment.commit.leases.STALLED_SECONDS", 0.1)
    store = filled.store
    with (
        table_lease(store, TARGET, "engine/hung", Patient(), lambda: "no step more", right),
        table_lease(store, TARGET, "engine/other", Patient(), time.monotonic, right),
    ):
        wait_until(lambda: owner_of(store, f"{right}/{TARGET}") == "engine/other")


def test_a_second_writer_is_let_in_when_the_first_one_hangs(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catchment.commit.leases.LEASE_SECONDS", 0.3)
    monkeypatch.setattr("catchment.commit.leases.STALLED_SECONDS", 0.1)
    store, works = filled.store, threading.Event()
    works.set()

    def progress() -> object:
        return time.monotonic() if works.is_set() else None

    with only_writer(store, TARGET, "/lake/t", "engine/first", progress):
        with (
            pytest.raises(CommitConflict) as refused,
            only_writer(store, TARGET, "/lake/t", "engine/second", time.monotonic),
        ):
            """Not while the first one works."""
        assert refused.value.code == "second-writer"
        works.clear()

        def enters() -> bool:
            with suppress(CommitConflict), only_writer(store, TARGET, "/lake/t", "engine/second", time.monotonic):
                return True
            return False

        wait_until(enters)
