from __future__ import annotations

from typing import Any

import pytest

from catchment.formats.iceberg.table import LakeTable


class Catalog:
    """A catalog with one table, and what our Java class does with it."""

    def __init__(self) -> None:
        self.current = "first"
        self.begun_on: list[str] = []

    def refresh(self, table: Any) -> str:
        table.metadata = self.current
        return self.current

    def begin(self, _: Any, looked_at: str) -> str:
        self.begun_on.append(looked_at)
        return "a transaction"


class Loaded:
    """Iceberg's object of a table."""

    metadata = ""

    def operations(self) -> Any:
        return self

    def current(self) -> str:
        return self.metadata


def test_a_refresh_by_another_thread_does_not_count_as_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog()
    monkeypatch.setattr(LakeTable, "tables", catalog)
    mine = LakeTable.__new__(LakeTable)
    mine.java = Loaded()
    mine.refresh()
    catalog.current = "second"
    catalog.refresh(mine.java)
    mine.transaction()
    assert catalog.begun_on == ["first"]
