"""Which commits since a job began count as changes, read from a line of snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from catchment.formats.iceberg.conflicts import anything_changed
from catchment.formats.iceberg.fence import FENCE
from catchment.store.writes import Base, Entry
from tests.ledgers import intent


@dataclass(frozen=True)
class Snapshot:
    """A snapshot as Iceberg's Java API shows it."""

    number: int
    name: str
    properties: Mapping[str, str]

    def snapshotId(self) -> int:  # noqa: N802
        return self.number

    def parentId(self) -> int:  # noqa: N802
        return self.number - 1

    def operation(self) -> str:
        return self.name

    def summary(self) -> Mapping[str, str]:
        return self.properties


class Table:
    """A table whose main line has these snapshots after number 1."""

    def __init__(self, *line: tuple[str, Mapping[str, str]]) -> None:
        made = [Snapshot(number, *each) for number, each in enumerate((("append", {}), *line), start=1)]
        self.line = {each.number: each for each in made}

    def currentSnapshot(self) -> Snapshot:  # noqa: N802
        return self.line[len(self.line)]

    def snapshot(self, number: int) -> Snapshot | None:
        return self.line.get(number)


def overwrite() -> Entry:
    begun = replace(intent("r/j/o", mode="overwrite"), conflict="fail", base=Base("uuid", 0, 1, 1))
    return Entry(begun, "sealed", tried=False, contents=None, snapshot_id=None, error=None)


ROWS: tuple[str, Mapping[str, str]] = ("append", {"added-records": "1"})
EMPTY: tuple[str, Mapping[str, str]] = ("append", {FENCE: "r/j/refused"})


@pytest.mark.parametrize(
    ("line", "changed"),
    [((), False), ((EMPTY,), False), ((("replace", {}), EMPTY), False), ((ROWS,), True), ((EMPTY, ROWS), True)],
    ids=["nothing", "a fence", "a compaction and a fence", "rows", "a fence and rows"],
)
def test_a_fence_changes_no_row(line: tuple[tuple[str, Mapping[str, str]], ...], changed: bool) -> None:
    assert anything_changed(Table(*line), overwrite()) is changed
