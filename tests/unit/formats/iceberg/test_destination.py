from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from catchment.commit.publisher import Outcome
from catchment.formats.iceberg import buffered
from catchment.formats.iceberg.table import LakeTable
from catchment.formats.iceberg.write_index import WriteIndex


def loaded(name: str) -> LakeTable:
    """A table object as a writer has it, with this in place of Iceberg's own."""
    table = LakeTable.__new__(LakeTable)
    table.java, table.writes = name, WriteIndex()
    return table


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Iceberg's table objects that consolidations have used."""
    seen: list[Any] = []

    def consolidate(table: LakeTable, *_: object) -> Outcome:
        seen.append(table.java)
        return Outcome()

    monkeypatch.setattr(buffered, "consolidate", consolidate)
    return seen


def test_a_consolidation_uses_what_the_last_writer_has_loaded(used: list[Any]) -> None:
    destination = buffered.TableDestination(*[SimpleNamespace()] * 3)  # type: ignore[arg-type]
    first = loaded("first")
    destination.adopt(first, "id")
    destination.consolidate([], lambda: None)
    history = destination.table.writes
    destination.adopt(loaded("second"), "id")
    destination.adopt(loaded("third"), "id")
    destination.consolidate([], lambda: None)
    destination.consolidate([], lambda: None)
    destination.adopt(loaded("of the table that has taken its name"), "another id")
    destination.consolidate([], lambda: None)
    assert used == ["first", "third", "third", "third"]
    assert destination.table.writes is history
