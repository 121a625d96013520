"""A compaction lets row-level changes go first, which it would force to start again."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from catchment.formats.iceberg.maintenance import compaction
from catchment.formats.iceberg.maintenance.compaction import retry_conflicts
from tests.ledgers import TARGET, Filled


@dataclass
class Table:
    """A maintained table of which only the leases are real."""

    filled: Filled
    looks: int = 0
    """How often a compaction has looked for row-level changes in vain."""
    changing: bool = True
    begun: list[bool] = field(default_factory=list)
    """For each rewrite that has begun, whether somebody was changing rows."""

    def __post_init__(self) -> None:
        self.writer = SimpleNamespace(store=self.filled.store)
        self.dataset = SimpleNamespace(address=TARGET)
        self.listener = self
        self._lease = self.filled.store.leases.acquire(f"rows/{TARGET}", "a merge", 600.0)

    def head(self) -> int:
        return 1

    def check(self) -> None:
        """Called each time that the compaction has to wait; the third time, the change ends."""
        self.looks += 1
        if self.looks == 3:
            self.filled.store.leases.release(self._lease)
            self.changing = False

    def rewrite(self) -> str:
        self.begun.append(self.changing)
        return "rewritten"


def test_a_rewrite_begins_when_the_row_level_change_under_way_has_ended(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "LOOK_SECONDS", 0.0)
    table: Any = Table(filled)
    assert retry_conflicts(table, table.rewrite) == "rewritten"
    assert (table.begun, table.looks) == ([False], 3)
