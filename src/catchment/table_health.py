"""How well the files of a table serve its readers: plain values, from an engine to whoever decides about upkeep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MOST_PARTITIONS = 1000
"""Partitions that are listed, those with the most to do first."""
SMALL_SHARE = 8
"""A file is small if it has less than this part of the size that the table aims at."""


@dataclass(frozen=True)
class PartitionHealth:
    """The files of one partition."""

    partition: Mapping[str, str | None] | None
    """Texts by partition column; empty if the table has no partitions, None for files of an earlier partitioning."""
    files: int
    bytes: int
    small_files: int
    small_bytes: int = 0
    delete_files: int = 0
    """Files of deletes, or data files with deleted rows, that readers have to apply."""
    level0_files: int = 0
    """Files that readers have to merge by key."""
    changed: float | None = None
    """When a file was added last, in seconds since 1970; None if that was long ago."""

    @property
    def burden(self) -> int:
        """What a compaction would save readers, in files."""
        return self.small_files + self.delete_files + self.level0_files


@dataclass(frozen=True)
class TableHealth:
    """The files of a whole table."""

    address: str
    head: str | None
    """The newest commit; plain files have none."""
    target_file_bytes: int
    small_file_bytes: int
    """Smaller files count as small."""
    files: int = 0
    bytes: int = 0
    small_files: int = 0
    small_bytes: int = 0
    delete_files: int = 0
    level0_files: int = 0
    manifests: int | None = None
    snapshots: int | None = None
    write_only: bool = False
    """Whether its writers leave the expiry of snapshots to the compaction."""
    last_compaction: float | None = None
    """In seconds since 1970; None if nothing tells of one."""
    partition_count: int = 0
    partitions: tuple[PartitionHealth, ...] = ()

    @property
    def small_share(self) -> float:
        """How many of the files are small, from 0 to 1."""
        return self.small_files / self.files if self.files else 0.0


def small_limit(target: int, given: int | None) -> int:
    """The size below which a file counts as small, unless somebody says another one."""
    return target // SMALL_SHARE if given is None else given


def table_health(
    address: str,
    head: str | None,
    sizes: tuple[int, int],
    partitions: Iterable[PartitionHealth],
    *,
    manifests: int | None = None,
    snapshots: int | None = None,
    write_only: bool = False,
    last_compaction: float | None = None,
) -> TableHealth:
    """The sums over all partitions, with those that have the most to do; `sizes` are the target and the small limit."""
    every = sorted(partitions, key=_order)
    return TableHealth(
        address,
        head,
        *sizes,
        files=sum(each.files for each in every),
        bytes=sum(each.bytes for each in every),
        small_files=sum(each.small_files for each in every),
        small_bytes=sum(each.small_bytes for each in every),
        delete_files=sum(each.delete_files for each in every),
        level0_files=sum(each.level0_files for each in every),
        manifests=manifests,
        snapshots=snapshots,
        write_only=write_only,
        last_compaction=last_compaction,
        partition_count=len(every),
        partitions=tuple(every[:MOST_PARTITIONS]),
    )


def _order(each: PartitionHealth) -> tuple[object, ...]:
    """The most to do first; the same order whoever has read the files."""
    return -each.burden, -each.small_bytes, str(each.partition), -each.bytes, -each.files, -(each.changed or 0.0)
