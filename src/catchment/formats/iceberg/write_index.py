"""The writes in a table's history. Each snapshot is read once, and none that is older than anybody asks for."""

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
    """From where on commits count: after a sequence number, or from a time on, whichever is earlier."""

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
"""How many commits of a table are remembered for the next look, at least; twice as many at most."""
KEPT = frozenset({WRITES, WRITE_ROWS, SEALS, METASTORE, WORKFLOW})
"""What is remembered of the summary of a snapshot."""


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
        """The writes that were sealed for this snapshot."""
        parts = (self.write_ids, _parts(self.summary, WRITE_ROWS), _parts(self.summary, SEALS))
        workflow = self.summary.get(WORKFLOW, "")
        return [
            Published(write_id, workflow, self.id, int(rows), int(seal))
            for write_id, rows, seal in zip(*parts, strict=False)
        ]


class Snapshots(Protocol):
    """The list of snapshots in a table's current metadata; sequence numbers and times grow along it."""

    def count(self, end: int, last: int) -> int | None:
        """How many there are; None if the one before place `end` is not this one any more, as after an expiry."""
        ...

    def first(self, end: int, since: Since) -> int:
        """The place of the first one before `end` that counts."""
        ...

    def read(self, first: int, end: int) -> list[dict[str, Any]]:
        """Those from one place to another, as JSON of the Iceberg table spec."""
        ...


class WriteIndex:
    """The newest commits of a table, back to wherever somebody had to look. For one thread at a time."""

    def __init__(self) -> None:
        self._first = 0
        """The place of the oldest commit that is known, in the table's list of snapshots."""
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
            # With the one before the first that counts, so that the next look knows where it can stop.
            first = max(listed.first(self._first, since) - 1, 0)
            self._add(_read(listed, first, self._first), older=True)
            self._first = first

    @property
    def _end(self) -> int:
        """The place after the newest commit that is known."""
        return self._first + len(self._commits)

    def forget_old(self) -> None:
        """Forget the oldest commits, if they are very many; whoever asks for them reads them again.

        Only between two consolidations: what one of them has looked back to must be there until it has decided.
        """
        if len(self._commits) > 2 * MOST_COMMITS:
            surplus = len(self._commits) - MOST_COMMITS
            kept, self._commits, self._snapshots = self._commits[surplus:], [], {}
            self._first += surplus
            self._add(kept, older=False)

    def find(self, write_ids: Collection[str]) -> dict[str, int]:
        """The snapshots of those of these writes that are in the history."""
        return {write_id: self._snapshots[write_id] for write_id in write_ids if write_id in self._snapshots}

    def count_after(self, sequence: int) -> int:
        """How many commits have a greater sequence number."""
        return len(self._commits) - bisect_left(self._commits, sequence + 1, key=lambda commit: commit.sequence)

    def newest_seal(self, metastore: str) -> int:
        """The greatest number of a seal that was published for a metastore; 0 if there is none."""
        seals = (_parts(commit.summary, SEALS) for commit in reversed(self._commits) if _is_of(commit, metastore))
        return max((int(seal) for seal in next(seals, ())), default=0)

    def published(self, metastore: str) -> list[Published]:
        """What was published for a metastore."""
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
