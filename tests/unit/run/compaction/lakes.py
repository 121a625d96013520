"""A lake in memory: tables whose partitions have files, and a compaction that makes one file of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from catchment.errors import CatchmentError
from catchment.plan.model import Dataset, Expire, Maintenance, Partition, Rewrite, RewriteManifests
from catchment.project.model import Address, Upkeep
from catchment.run.compaction.compactor import TableCompactor
from catchment.table_health import PartitionHealth, TableHealth, table_health

TABLE = Dataset("dataos://lake:raw/t", "lake", "iceberg", "raw", "t")
NOW = 1_000_000.0
TARGET, SMALL = 8_000_000, 1_000_000


def part(name: str, small: int = 0, *, changed: float = NOW - 600, **more: int) -> PartitionHealth:
    """A partition with so many small files."""
    return PartitionHealth({"part": name}, small or 1, small * 10, small, small * 10, changed=changed, **more)


@dataclass
class FakeLake:
    """Answers like an engine."""

    parts: dict[str, list[PartitionHealth]]
    """By table."""
    write_only: bool = False
    works: bool = True
    """Whether a compaction changes anything."""
    left_over: int = 0
    """Files that every compaction leaves as they are."""
    trouble: CatchmentError | None = None
    """Raised by every compaction."""
    broken: dict[str, CatchmentError] = field(default_factory=dict)
    """Raised by every compaction of a partition."""
    no_expiry: CatchmentError | None = None
    """Raised by every expiry."""
    unreadable: dict[str, CatchmentError] = field(default_factory=dict)
    """Raised by every look at a table or depot."""
    limit: int = SMALL
    manifests: int = 1
    manifests_left: int = 1
    """How many manifests a merge leaves."""
    asked: list[Maintenance] = field(default_factory=list)
    losses: int = 0
    """Engines that were lost."""
    looks: int = 0
    commits: int = 0

    def health(
        self,
        table: Dataset,
        small_file_bytes: int | None = None,
        known: str | None = None,
        wanted: Sequence[Partition] = (),
    ) -> TableHealth | None:
        """The partitions of the table, unless the newest commit is known."""
        self.looks += 1
        if table.address in self.unreadable:
            raise self.unreadable[table.address]
        if known == str(self.commits):
            return None
        sizes = TARGET, small_file_bytes or self.limit
        found = self.parts[table.address]
        more: Any = {"manifests": self.manifests, "write_only": self.write_only}
        return table_health(table.address, str(self.commits), sizes, found, **more).shortened(wanted)

    def maintain(self, table: Dataset, operation: Maintenance, *, by: str, dry_run: bool) -> Mapping[str, Any]:
        """Make one file of the files of each partition that is asked for."""
        if dry_run:
            return {}
        self.asked.append(operation)
        if isinstance(operation, Expire):
            if self.no_expiry:
                raise self.no_expiry
            return {"snapshots": [{"snapshot_id": "1"}]}
        if self.trouble:
            raise self.trouble
        self.commits += 1
        if isinstance(operation, RewriteManifests):
            before, self.manifests = self.manifests, self.manifests_left
            return {"rewritten_manifests": before, "added_manifests": self.manifests}
        assert isinstance(operation, Rewrite)
        if found_broken := self.broken.get(str(operation.partitions[0])):
            raise found_broken
        wanted = [dict(each.values) for each in operation.partitions]
        found = self.parts[table.address]
        chosen = [each for each in found if not wanted or dict(each.partition or {}) in wanted]
        if self.works:
            self.parts[table.address] = [_merged(each) if each in chosen else each for each in found]
        files = sum(each.burden for each in chosen)
        counts = {"rewritten_files": files, "added_files": len(chosen), "rewritten_bytes": files * 10}
        return {**counts, "failed_files": self.left_over}

    def inspect(self, what: str, address: Address) -> Mapping[str, Any]:
        """The tables of a depot."""
        if str(address) in self.unreadable:
            raise self.unreadable[str(address)]
        return {"tables": [{"address": each} for each in self.parts if each.startswith(f"dataos://{address.depot}:")]}

    def rewritten(self) -> list[str]:
        """The partitions that were compacted, in order."""
        return [str(each.partitions[0]) for each in self.asked if isinstance(each, Rewrite)]


def lake_of(*parts: PartitionHealth, **more: Any) -> FakeLake:
    """A lake with one table."""
    return FakeLake({TABLE.address: list(parts)}, **more)


def compactor(lake: FakeLake, upkeep: Upkeep | None = None, *, table: Dataset = TABLE, **more: Any) -> TableCompactor:
    """A compactor of a table, at a time that stands still."""
    return TableCompactor(lake, table, upkeep or Upkeep(), "somebody", clock=lambda: NOW, **more)


def _merged(each: PartitionHealth) -> PartitionHealth:
    return replace(each, files=1, small_files=1, small_bytes=each.small_bytes, delete_files=0, level0_files=0)
