"""The newest snapshots of a Paimon table, which are read through Paimon's Java API."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from catchment.formats.paimon.java import commits
from catchment.formats.paimon.snapshot_files import CHANGE_ROWS, REARRANGES, Snapshot
from catchment.formats.stamps import METASTORE, MODE, SEALS, WORKFLOW, WRITE_ROWS, group_stamp, split
from catchment.store.writes import Entry, Published

MOST_REMEMBERED = 40_000
"""How many snapshots of one table are remembered; with more, the next check of the history starts over."""


def user_of(writes: Sequence[Entry], metastore: str) -> str:
    """The user name under which writes are committed."""
    seals, mode = ",".join(str(write.number or 0) for write in writes), writes[0].intent.mode
    told = {MODE: mode} if mode in CHANGE_ROWS else {}
    return json.dumps({**group_stamp(writes), **told, SEALS: seals, METASTORE: metastore})


@dataclass
class History:
    """The newest snapshots of one table, as far back as they were needed. Not thread-safe."""

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
        """Read on from the last known snapshot; False if it no longer exists, as after a rollback."""
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
        """Note the snapshot that was committed on the last known one, so that the latter need not be read again."""
        self._own = number, tuple(write_ids)

    def find(self, write_ids: Collection[str]) -> dict[str, Snapshot]:
        """The snapshots of these writes, by write id; writes that are not in the history are left out."""
        return {write_id: self._writes[write_id] for write_id in write_ids if write_id in self._writes}

    def newest_seal(self, metastore: str) -> int:
        """The greatest seal number in the newest snapshot for a metastore; 0 if there is none."""
        seals = (
            split(each.stamp.get(SEALS)) for each in self._newest_first() if each.stamp.get(METASTORE) == metastore
        )
        return max((int(seal) for seal in next(seals, ())), default=0)

    def rival(self, after: int, metastore: str) -> Snapshot | None:
        """The first snapshot after a number in which a writer without this metastore has written rows."""
        later = (self._snapshots[id] for id in sorted(self._snapshots) if id > after)
        return next((each for each in later if each.kind not in REARRANGES and each.is_foreign_to(metastore)), None)

    def published(self, metastore: str) -> list[Published]:
        """The writes that were published for a metastore."""
        ours = (each for each in self._newest_first() if each.stamp.get(METASTORE) == metastore)
        return [write for each in ours for write in published_in(each)]

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
    return [Snapshot.of(line) for line in lines.split("\n")[:-1]]


def published_in(found: Snapshot) -> list[Published]:
    """The writes of a snapshot, for a ledger that has lost them."""
    parts = (found.write_ids, split(found.stamp.get(WRITE_ROWS)), split(found.stamp.get(SEALS)))
    workflow = found.stamp.get(WORKFLOW, "")
    return [
        Published(write_id, workflow, found.id, int(rows), int(seal))
        for write_id, rows, seal in zip(*parts, strict=False)
    ]
