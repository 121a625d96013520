"""The writes of a table's history: looked for as far back as somebody asks, and not remembered without bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from catchment.formats.iceberg import bulk, write_index
from catchment.formats.iceberg.write_index import NEVER, WHOLE, Since, WriteIndex
from catchment.formats.stamps import WRITES


class Listed(list[dict[str, Any]]):
    """The snapshots of a table, as Java's list of them."""

    def size(self) -> int:
        return len(self)

    def get(self, at: int) -> Any:
        return Snapshot(self[at])

    def subList(self, first: int, end: int) -> list[dict[str, Any]]:  # noqa: N802
        return self[first:end]


class Snapshot:
    """One of them."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.entry = entry

    def snapshotId(self) -> int:  # noqa: N802
        return int(self.entry["snapshot-id"])

    def sequenceNumber(self) -> int:  # noqa: N802
        return int(self.entry["sequence-number"])

    def timestampMillis(self) -> int:  # noqa: N802
        return int(self.entry["timestamp-ms"])


def history(commits: int) -> Listed:
    return Listed(
        {"snapshot-id": 100 + n, "sequence-number": n, "timestamp-ms": n, "summary": {WRITES: f"r/j/{n}"}}
        for n in range(1, commits + 1)
    )


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many snapshots were read each time."""
    counts: list[int] = []

    def snapshots(session: object, listed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        counts.append(len(listed))
        return list(listed)

    monkeypatch.setattr(bulk, "snapshots", snapshots)
    monkeypatch.setattr(write_index, "MOST_COMMITS", 10)
    return counts


def test_old_commits_are_forgotten_and_read_again_when_somebody_asks_for_them(read: list[int]) -> None:
    index = WriteIndex(cast("Any", None))
    index.extend(history(25), WHOLE)
    assert index.find(["r/j/1", "r/j/25"]) == {"r/j/1": 101, "r/j/25": 125}
    index.forget_old()
    assert index.find(["r/j/15", "r/j/16"]) == {"r/j/16": 116}
    index.extend(history(26), Since(20, NEVER))
    assert index.find(["r/j/1", "r/j/26"]) == {"r/j/26": 126}
    assert index.count_after(20) == 6
    index.extend(history(26), WHOLE)
    assert index.find(["r/j/1"]) == {"r/j/1": 101}
    assert read == [25, 1, 15]


def test_a_short_history_is_remembered(read: list[int]) -> None:
    index = WriteIndex(cast("Any", None))
    for commits in (15, 18, 20):
        index.extend(history(commits), WHOLE)
        index.forget_old()
    assert index.find(["r/j/1"]) == {"r/j/1": 101}
    assert read == [15, 3, 2]
