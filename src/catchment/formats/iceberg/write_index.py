"""An index of the writes in a table's history. Each snapshot is read once, and only as far back as needed."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from catchment.formats.stamps import METASTORE, SEALS, WORKFLOW, WRITE_ROWS, WRITES
from catchment.store.writes import Published


@dataclass(frozen=True)
class Since:
    """The point from which commits count: after a sequence number or from a time on, whichever is earlier."""

    sequence: int
    millis: int

    def counts(self, sequence: int, millis: int) -> bool:
        """Whether a commit is new enough."""
        return sequence > self.sequence or millis >= self.millis


NEVER = sys.maxsize
"""A time at which no commit was made."""
WHOLE = Since(-1, 0)
"""The whole history."""
MOST_COMMITS = 20_000
"""How many commits of a table are kept when old ones are forgotten, which happens at twice this number."""
KEPT = frozenset({WRITES, WRITE_ROWS, SEALS, METASTORE, WORKFLOW})
"""The entries of a snapshot's summary that are remembered."""


@dataclass(frozen=True)
class Commit:
    """A snapshot, and the writes in it."""

    id: int
    sequence: int
    millis: int
    summary: Mapping[str, str]

    @property
    def write_ids(self) -> list[str]:
        return _parts(self.summary, WRITES)

    def published(self) -> list[Published]:
        """The sealed writes that this snapshot published."""
        parts = (self.write_ids, _parts(self.summary, WRITE_ROWS), _parts(self.summary, SEALS))
        workflow = self.summary.get(WORKFLOW, "")
        return [
            Published(write_id, workflow, self.id, int(rows), int(seal))
            for write_id, rows, seal in zip(*parts, strict=False)
        ]


class Snapshots(Protocol):
    """The list of snapshots in a table's current metadata; sequence numbers and times grow along it."""

    def count(self, end: int, last: int) -> int | None:
        """The number of snapshots; None if the one before index `end` is no longer `last`, as after an expiry."""
        ...

    def first(self, end: int, since: Since) -> int:
        """The index of the first snapshot before `end` that counts."""
        ...

    def read(self, first: int, end: int) -> list[dict[str, Any]]:
        """The snapshots from one index to another, as JSON of the Iceberg table spec."""
        ...


class WriteIndex:
    """The newest commits of a table, as far back as they were needed. Not thread-safe."""

    def __init__(self) -> None:
        self._first = 0
        """The index of the oldest known commit in the table's list of snapshots."""
        self._commits: list[Commit] = []
        self._snapshots: dict[str, int] = {}

    def extend(self, listed: Snapshots, since: Since) -> None:
        """Read the snapshots of a table's current metadata that count and are not known yet."""
        size = listed.count(self._end, self._commits[-1].id) if self._commits else None
        if size is None:
            size = listed.count(0, 0) or 0
            self._first, self._commits, self._snapshots = size, [], {}
        self._add(_read(listed, self._end, size), older=False)
        if self._first and (not self._commits or since.counts(self._commits[0].sequence, self._commits[0].millis)):
            # Include the one before the first that counts, so that the next call knows where it can stop.
            first = max(listed.first(self._first, since) - 1, 0)
            self._add(_read(listed, first, self._first), older=True)
            self._first = first

    @property
    def _end(self) -> int:
        """The index after the newest known commit."""
        return self._first + len(self._commits)

    def forget_old(self) -> None:
        """Forget the oldest commits if there are very many; they are read again when they are needed.

        Call this only between two consolidations: what one of them has looked back to must stay until it has decided.
        """
        if len(self._commits) > 2 * MOST_COMMITS:
            surplus = len(self._commits) - MOST_COMMITS
            kept, self._commits, self._snapshots = self._commits[surplus:], [], {}
            self._first += surplus
            self._add(kept, older=False)

    def find(self, write_ids: Collection[str]) -> dict[str, int]:
        """The snapshots of these writes, by write id; writes that are not in the history are left out."""
        return {write_id: self._snapshots[write_id] for write_id in write_ids if write_id in self._snapshots}

    def count_after(self, sequence: int) -> int:
        """The number of commits with a greater sequence number."""
        return len(self._commits) - bisect_left(self._commits, sequence + 1, key=lambda commit: commit.sequence)

    def newest_seal(self, metastore: str) -> int:
        """The greatest seal number in the newest commit for a metastore; 0 if there is none."""
        seals = (_parts(commit.summary, SEALS) for commit in reversed(self._commits) if _is_of(commit, metastore))
        return max((int(seal) for seal in next(seals, ())), default=0)

    def published(self, metastore: str) -> list[Published]:
        """The writes that were published for a metastore."""
        return [each for commit in self._commits if _is_of(commit, metastore) for each in commit.published()]

    def _add(self, commits: list[Commit], *, older: bool) -> None:
        self._commits = [*commits, *self._commits] if older else [*self._commits, *commits]
        self._snapshots.update({write_id: commit.id for commit in commits for write_id in commit.write_ids})


def _read(listed: Snapshots, first: int, end: int) -> list[Commit]:
    if first == end:
        return []
    return [
        Commit(each["snapshot-id"], each.get("sequence-number", 0), each["timestamp-ms"], _ours(each["summary"]))
        for each in listed.read(first, end)
    ]


def _ours(summary: Mapping[str, str]) -> Mapping[str, str]:
    return {key: value for key, value in summary.items() if key in KEPT}


def _parts(summary: Mapping[str, str], key: str) -> list[str]:
    return [part for part in summary.get(key, "").split(",") if part]


def _is_of(commit: Commit, metastore: str) -> bool:
    return commit.summary.get(METASTORE) == metastore
