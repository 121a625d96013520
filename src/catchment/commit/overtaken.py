"""Whether others changed what a dynamic overwrite replaces, where a compaction was among the commits since it began.

Iceberg takes a compaction of a partition for a change of it. It is none: the rows are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from catchment.commit.model import Write
from catchment.commit.table import LakeTable

COMPACTION = "replace"


def was_compacted(table: LakeTable, write: Write) -> bool:
    """Whether a compaction is among the commits since the write's job began."""
    return any(str(snapshot.operation()) == COMPACTION for snapshot in _since(table, write))


def is_overtaken(table: LakeTable, write: Write) -> bool:
    """Whether a commit since then, other than a compaction, touched a partition that the write replaces."""
    line = list(_since(table, write))
    if not _reaches(line, write.intent.base.snapshot_id):
        return True  # nobody can tell any more
    ours = _partitions(table, write)
    changes = (snapshot for snapshot in line if str(snapshot.operation()) != COMPACTION)
    return any(_touches(table, file, ours) for snapshot in changes for file in _changed(table, snapshot))


def _since(table: LakeTable, write: Write) -> Iterator[Any]:
    """The commits of the write's branch after the state that it began from, newest first."""
    snapshot = table.head(write.intent.branch)
    while snapshot is not None and snapshot.snapshotId() != write.intent.base.snapshot_id:
        yield snapshot
        parent = snapshot.parentId()
        snapshot = table.java.snapshot(parent) if parent is not None else None


def _reaches(line: list[Any], base: int | None) -> bool:
    return not line or line[-1].parentId() == base


def _partitions(table: LakeTable, write: Write) -> frozenset[str]:
    files = table.data_files(write.contents.descriptors if write.contents else ())
    return frozenset(_partition(table, file) for file in files)


def _partition(table: LakeTable, file: Any) -> str:
    spec = table.java.specs().get(file.specId())
    return f"{file.specId()}:{spec.partitionToPath(file.partition())}"


def _changed(table: LakeTable, snapshot: Any) -> Iterator[Any]:
    io = table.java.io()
    for files in (snapshot.addedDataFiles(io), snapshot.removedDataFiles(io), snapshot.addedDeleteFiles(io)):
        iterator = files.iterator()
        while iterator.hasNext():
            yield iterator.next()


def _touches(table: LakeTable, file: Any, partitions: frozenset[str]) -> bool:
    everywhere = bool(table.java.specs().get(file.specId()).isUnpartitioned())
    return everywhere or _partition(table, file) in partitions
