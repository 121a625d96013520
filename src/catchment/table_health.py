"""How well the files of a table serve its readers: measured by an engine, to decide about maintenance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from catchment.plan.model import Partition

MOST_PARTITIONS = 1000
"""The most partitions that are listed of those that nobody has named; those with the most to do come first."""
SMALL_SHARE = 8
"""A file is small if it is smaller than the table's target file size divided by this."""


@dataclass(frozen=True)
class PartitionHealth:
    """The files of one partition."""

    partition: Mapping[str, str | None] | None
    """Values as text, by column; empty if the table has no partitions, None for files of an earlier partitioning."""
    files: int
    bytes: int
    small_files: int
    small_bytes: int = 0
    delete_files: int = 0
    """Delete files, or data files with deleted rows, whose deletes readers have to apply."""
    level0_files: int = 0
    """Files that readers have to merge by key."""
    changed: float | None = None
    """When a file was last added, in seconds since 1970; None if that was too long ago to know."""

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
    """Files below this size count as small."""
    files: int = 0
    bytes: int = 0
    small_files: int = 0
    small_bytes: int = 0
    delete_files: int = 0
    level0_files: int = 0
    manifests: int | None = None
    snapshots: int | None = None
    write_only: bool = False
    """Whether its writers leave the expiry of snapshots to compaction."""
    last_compaction: float | None = None
    """In seconds since 1970; None if none is known."""
    partition_count: int = 0
    partitions: tuple[PartitionHealth, ...] = ()

    @property
    def small_share(self) -> float:
        """The fraction of files that are small, from 0 to 1."""
        return self.small_files / self.files if self.files else 0.0

    def shortened(self, wanted: Sequence[Partition] = ()) -> TableHealth:
        """The same table without the partitions that have the least to do; those that somebody has named stay."""
        named, rest = [dict(each.values) for each in wanted], self.partitions[MOST_PARTITIONS:]
        kept = tuple(each for each in rest if each.partition is not None and dict(each.partition) in named)
        return replace(self, partitions=self.partitions[:MOST_PARTITIONS] + kept)


def small_limit(target: int, given: int | None) -> int:
    """The size below which a file counts as small: the given one, or the default for the target size."""
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
    """The totals of all partitions, and each of them; `sizes` are the target and the small limit."""
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
        partitions=tuple(every),
    )


def _order(each: PartitionHealth) -> tuple[object, ...]:
    """Puts the most to do first; the order does not depend on which engine has read the files."""
    return -each.burden, -each.small_bytes, str(each.partition), -each.bytes, -each.files, -(each.changed or 0.0)
