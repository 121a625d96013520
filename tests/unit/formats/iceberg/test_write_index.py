"""The writes of a table's history: looked for as far back as somebody asks, and not remembered without bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from catchment.formats.iceberg import write_index
from catchment.formats.iceberg.write_index import NEVER, WHOLE, Since, WriteIndex
from catchment.formats.stamps import WRITES


@dataclass
class History:
    """The snapshots of a table; counts how many were read each time."""

    entries: list[dict[str, Any]]
    reads: list[int] = field(default_factory=list)

    def count(self, end: int, last: int) -> int | None:
        same = end == 0 or (end <= len(self.entries) and self.entries[end - 1]["snapshot-id"] == last)
        return len(self.entries) if same else None

    def first(self, end: int, since: Since) -> int:
        counts = (since.counts(each["sequence-number"], each["timestamp-ms"]) for each in self.entries[:end])
        return next((place for place, counted in enumerate(counts) if counted), end)

    def read(self, first: int, end: int) -> list[dict[str, Any]]:
        self.reads.append(end - first)
        return self.entries[first:end]


def history(commits: int, after: History | None = None, expired: int = 0) -> History:
    entries = [
        {"snapshot-id": 100 + n, "sequence-number": n, "timestamp-ms": n, "summary": {WRITES: f"r/j/{n}"}}
        for n in range(expired + 1, commits + 1)
    ]
    return History(entries, after.reads if after else [])


@pytest.fixture(autouse=True)
def short_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_index, "MOST_COMMITS", 10)


def test_old_commits_are_forgotten_and_read_again_when_somebody_asks_for_them() -> None:
    index, before = WriteIndex(), history(25)
    index.extend(before, WHOLE)
    assert index.find(["r/j/1", "r/j/25"]) == {"r/j/1": 101, "r/j/25": 125}
    index.forget_old()
    assert index.find(["r/j/15", "r/j/16"]) == {"r/j/16": 116}
    now = history(26, before)
    index.extend(now, Since(20, NEVER))
    assert index.find(["r/j/1", "r/j/26"]) == {"r/j/26": 126}
    assert index.count_after(20) == 6
    index.extend(now, WHOLE)
    assert index.find(["r/j/1"]) == {"r/j/1": 101}
    assert now.reads == [25, 1, 15]


def test_a_short_history_is_remembered() -> None:
    index, now = WriteIndex(), history(0)
    for commits in (15, 18, 20):
        now = history(commits, now)
        index.extend(now, WHOLE)
        index.forget_old()
    assert index.find(["r/j/1"]) == {"r/j/1": 101}
    assert now.reads == [15, 3, 2]


def test_after_an_expiry_the_history_is_read_anew() -> None:
    index, before = WriteIndex(), history(8)
    index.extend(before, WHOLE)
    now = history(9, before, expired=3)
    index.extend(now, WHOLE)
    assert index.find(["r/j/3", "r/j/4", "r/j/9"]) == {"r/j/4": 104, "r/j/9": 109}
    assert now.reads == [8, 6]
