"""Snapshots of a Paimon table, and the writes in them.

Paimon's snapshots have no properties. They have the name of whoever committed, which may be any text, and Paimon only
compares it. Catchment's name is its stamp: JSON with the ids of the writes, their seals and their metastore.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.committed import Committed
from catchment.formats.paimon.java import commits
from catchment.formats.stamps import (
    METASTORE,
    MODE,
    SEALS,
    WORKFLOW,
    WRITE_BYTES,
    WRITE_FILES,
    WRITE_ROWS,
    WRITES,
    group_stamp,
    split,
)
from catchment.store.writes import Entry, Published

ADDS = frozenset({"APPEND"})
REARRANGES = frozenset({"COMPACT", "ANALYZE"})
"""Kinds of commits that change no row."""
MOST_REMEMBERED = 40_000
"""Snapshots of one table that are remembered; with more, the next look begins anew."""
CHANGE_ROWS = frozenset({"merge", "delete"})
"""Modes of writes that change rows which they have read."""
FENCE = "catchment fence"
"""The name under which a snapshot without changes is committed."""
_STAMP = '{"catchment.'


@dataclass(frozen=True)
class Snapshot:
    """One snapshot."""

    id: int
    millis: int
    kind: str
    user: str
    manifests: str
    """The name of the list of its changes, which no other snapshot has."""
    rows: int
    """Rows of all data files, before Paimon merges those of one key."""
    added_rows: int

    @classmethod
    def of(cls, text: str) -> Snapshot:
        """A snapshot from Paimon's JSON."""
        found = json.loads(text)
        return cls(
            *(found["id"], found["timeMillis"], found["commitKind"], found["commitUser"], found["deltaManifestList"]),
            found.get("totalRecordCount") or 0,
            found.get("deltaRecordCount") or 0,
        )

    @property
    def name(self) -> str:
        """Number and identity: after a rollback, another snapshot may have the number."""
        return f"{self.id}@{self.manifests}"

    @cached_property
    def stamp(self) -> Mapping[str, str]:
        """What Catchment wrote about the commit; empty if somebody else made it."""
        return dict(json.loads(self.user)) if self.user.startswith(_STAMP) else {}

    @property
    def write_ids(self) -> tuple[str, ...]:
        return split(self.stamp.get(WRITES))

    @property
    def operation(self) -> str:
        """What was done; to Paimon, changes of rows are appends."""
        return self.stamp.get(MODE, self.kind.lower())

    @property
    def changes_rows(self) -> bool:
        """Whether it does something else than add rows or rearrange files."""
        return self.kind not in ADDS | REARRANGES or self.operation in CHANGE_ROWS

    def is_foreign_to(self, metastore: str) -> bool:
        """Whether somebody else committed it: without Catchment, or with another metastore."""
        return self.user != FENCE and self.stamp.get(METASTORE) != metastore

    def committed(self, write_id: str) -> Committed:
        """The counts of one of its writes."""
        at = self.write_ids.index(write_id)
        rows, size, files = (int(split(self.stamp[key])[at]) for key in (WRITE_ROWS, WRITE_BYTES, WRITE_FILES))
        return Committed(self.id, rows, size, files)

    def published(self) -> list[Published]:
        """Its writes, as a ledger that has lost them learns them."""
        parts = (self.write_ids, split(self.stamp.get(WRITE_ROWS)), split(self.stamp.get(SEALS)))
        workflow = self.stamp.get(WORKFLOW, "")
        return [
            Published(write_id, workflow, self.id, int(rows), int(seal))
            for write_id, rows, seal in zip(*parts, strict=False)
        ]


def user_of(writes: Sequence[Entry], metastore: str) -> str:
    """The name under which writes are committed."""
    seals, mode = ",".join(str(write.number or 0) for write in writes), writes[0].intent.mode
    told = {MODE: mode} if mode in CHANGE_ROWS else {}
    return json.dumps({**group_stamp(writes), **told, SEALS: seals, METASTORE: metastore})


@dataclass
class History:
    """The newest snapshots of one table, back to wherever somebody had to look. For one thread at a time."""

    spark: SparkSession
    _snapshots: dict[int, Snapshot] = field(default_factory=dict)
    """Without gaps, by their numbers."""
    _writes: dict[str, Snapshot] = field(default_factory=dict)
    _covers: tuple[int, int] | None = None
    """All snapshots after this number, and all since this time, are known."""
    _own: tuple[int, tuple[str, ...]] | None = None
    """The number of the snapshot that was committed last, and its writes."""

    def follow(self, java: Any, newest: Snapshot | None, after: int, since: int) -> None:
        """Read the snapshots after a number or since a time (milliseconds) that are not known yet."""
        last = max(self._snapshots, default=0)
        if newest is None or not last or len(self._snapshots) > MOST_REMEMBERED or not self._go_on(java, newest, last):
            self._forget()
        if newest is None:
            return
        covered = self._covers is not None and after >= self._covers[0] and since >= self._covers[1]
        if not covered:
            self._add(self._read(java, min(self._snapshots, default=newest.id + 1) - 1, after, since))
            before = self._covers or (after, since)
            self._covers = min(after, before[0]), min(since, before[1])

    def _go_on(self, java: Any, newest: Snapshot, last: int) -> bool:
        """Read on from the last known snapshot; False if that is there no longer, as after a rollback."""
        if newest.id <= last:
            return newest.id == last and newest.manifests == self._snapshots[last].manifests
        if newest.id == last + 1 and (newest.id, newest.write_ids) == self._own:
            self._add([newest])
            return True
        again = self._read(java, newest.id, last - 1, sys.maxsize)
        if not again or again[-1].manifests != self._snapshots[last].manifests:
            return False  # the table was rolled back, or old snapshots are gone
        self._add(again)
        return True

    def add_own(self, number: int, write_ids: Sequence[str]) -> None:
        """A snapshot was committed on the last known one, which therefore is not read again."""
        self._own = number, tuple(write_ids)

    def find(self, write_ids: Collection[str]) -> dict[str, Snapshot]:
        """The snapshots of those of these writes that are in the history."""
        return {write_id: self._writes[write_id] for write_id in write_ids if write_id in self._writes}

    def newest_seal(self, metastore: str) -> int:
        """The greatest number of a seal that was published for a metastore; 0 if there is none."""
        seals = (
            split(each.stamp.get(SEALS)) for each in self._newest_first() if each.stamp.get(METASTORE) == metastore
        )
        return max((int(seal) for seal in next(seals, ())), default=0)

    def rival(self, after: int, metastore: str) -> Snapshot | None:
        """The first snapshot after a number in which somebody without this metastore has written rows."""
        later = (self._snapshots[id] for id in sorted(self._snapshots) if id > after)
        return next((each for each in later if each.kind not in REARRANGES and each.is_foreign_to(metastore)), None)

    def published(self, metastore: str) -> list[Published]:
        """What was published for a metastore."""
        ours = (each for each in self._newest_first() if each.stamp.get(METASTORE) == metastore)
        return [write for each in ours for write in each.published()]

    def _newest_first(self) -> Iterator[Snapshot]:
        numbers = range(max(self._snapshots, default=0), min(self._snapshots, default=1) - 1, -1)
        return (self._snapshots[number] for number in numbers)

    def _read(self, java: Any, newest: int, after: int, since: int) -> list[Snapshot]:
        return read_back(self.spark, java, newest, after, since)

    def _add(self, found: Sequence[Snapshot]) -> None:
        self._snapshots.update({each.id: each for each in found})
        self._writes.update({write_id: each for each in found for write_id in each.write_ids})

    def _forget(self) -> None:
        self._snapshots, self._writes, self._covers = {}, {}, None


def read_back(spark: SparkSession, java: Any, newest: int, after: int = 0, since: int = 0) -> list[Snapshot]:
    """The snapshots from one number back to those after another one or since a time, the newest first."""
    if newest <= 0:
        return []
    lines = str(commits(spark).snapshots(java, newest, after, since))
    return [Snapshot.of(line) for line in lines.splitlines()]
