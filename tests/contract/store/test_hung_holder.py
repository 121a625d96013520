"""A consolidator that hangs does not keep a table from everybody else for ever."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from catchment.commit.publisher import Check, Outcome, Publisher
from catchment.errors import LeaseLost
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
