"""Which partitions of a table are worth a compaction, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catchment.errors import Position, RequestError
from catchment.plan.model import Partition
from catchment.project.model import Thresholds
from catchment.table_health import PartitionHealth, TableHealth

FAR_ABOVE = 4
"""A partition that has so many times a threshold is compacted even while it is being written."""


@dataclass(frozen=True)
class Need:
    """A partition that is worth a compaction."""

    health: PartitionHealth
    reasons: tuple[str, ...]
    busy: bool = False
    """Whether somebody is writing it, so that a compaction had better come later."""

    @property
    def partition(self) -> Partition | None:
        """The partition by its values; None if all files of the table belong together."""
        return Partition(self.health.partition) if self.health.partition else None

    @property
    def cost(self) -> int:
        """How many bytes a compaction reads, by estimate: what deletes and levels concern may be every file."""
        merely_small = not (self.health.delete_files or self.health.level0_files)
        return (merely_small and self.health.small_bytes) or self.health.bytes

    @property
    def name(self) -> str:
        """The partition as people read it."""
        if self.health.partition is None:
            return "(files of an earlier partitioning)"
        return str(self.partition or "(all)")


def needs_of(
    found: TableHealth, thresholds: Thresholds, now: float, wanted: Sequence[Partition] = ()
) -> tuple[Need, ...]:
    """The partitions that need a compaction, those with the most to do first.

    Partitions that somebody names are compacted whatever the thresholds say, if there is anything to merge.
    """
    check_limit(found, thresholds.small_file_where)
    chosen = [dict(each.values) for each in wanted]
    is_written = any(_is_fresh(each, thresholds, now) for each in found.partitions)
    every = (
        _need(each, thresholds, now, named=bool(chosen), is_written=is_written)
        for each in found.partitions
        if _is_in(each, chosen)
    )
    return tuple(need for need in every if need is not None)


def check_limit(found: TableHealth, where: Position | None) -> None:
    """Refuse a limit that files can never outgrow: they would be compacted again and again."""
    if found.small_file_bytes >= found.target_file_bytes:
        raise RequestError(
            f"files of {found.address} become {found.target_file_bytes:,} bytes large, and below "
            f"{found.small_file_bytes:,} bytes they count as small, so that no compaction is ever enough",
            code="threshold-never-met",
            where=where,
            hint="let `small_file_size` in `maintain` be below the size that the table aims at",
        )


def _is_in(each: PartitionHealth, chosen: Sequence[dict[str, str | None]]) -> bool:
    return not chosen or (each.partition is not None and dict(each.partition) in chosen)


def _need(each: PartitionHealth, thresholds: Thresholds, now: float, *, named: bool, is_written: bool) -> Need | None:
    reasons = tuple(_reasons(each, thresholds))
    if not reasons and (named or _is_old(each, thresholds, now)) and _has_anything(each):
        why = "it was asked for" if named else f"nothing was added for {thresholds.age:.0f} s"
        reasons = (f"{each.burden} files to merge, and {why}",)
    # A rewrite takes conditions on rows, and files of an earlier partitioning may have rows of any partition: it cannot
    # be limited to such files. So it waits until nobody writes to any partition; meanwhile, none of them is added.
    busy = is_written if each.partition is None else _is_busy(each, thresholds, now)
    return Need(each, reasons, busy) if reasons else None


def _reasons(each: PartitionHealth, thresholds: Thresholds) -> Iterator[str]:
    for count, limit, what in _measured(each, thresholds):
        if count >= limit:
            yield f"{count} {what} (the limit is {limit})"


def _measured(each: PartitionHealth, thresholds: Thresholds) -> Iterator[tuple[int, int, str]]:
    yield each.small_files, thresholds.small_files, "small files"
    yield each.delete_files, thresholds.delete_files, "delete files"
    yield each.level0_files, thresholds.level0_files, "files of level 0"


def _has_anything(each: PartitionHealth) -> bool:
    return each.small_files > 1 or each.delete_files > 0 or each.level0_files > 0


def _is_old(each: PartitionHealth, thresholds: Thresholds, now: float) -> bool:
    return each.changed is None or now - each.changed >= thresholds.age


def _is_busy(each: PartitionHealth, thresholds: Thresholds, now: float) -> bool:
    far = any(count >= FAR_ABOVE * limit for count, limit, _ in _measured(each, thresholds))
    return not far and _is_fresh(each, thresholds, now)


def _is_fresh(each: PartitionHealth, thresholds: Thresholds, now: float) -> bool:
    return each.changed is not None and now - each.changed < thresholds.quiet
