"""Maintenance of plain files: compaction, and how much their sizes call for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from catchment.commit.committed import Committed
from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.errors import JobError
from catchment.formats.files.compaction import FilesCompactor, Limits, columns_of, groups, retry_overtaken
from catchment.formats.files.file_health import health_of, required, visible
from catchment.formats.files.storage import FileStatus
from catchment.formats.files.traits import COMPACTED
from catchment.formats.files.writing import NO_BASE
from catchment.formats.model import MaintenanceResult
from catchment.formats.partition_values import check_partitions
from catchment.formats.rewrite_options import check_rewrite
from catchment.plan.model import Dataset, Maintenance, Rewrite
from catchment.store.writes import NO_BRANCH, Base, Entry
from catchment.table_health import TableHealth


@dataclass(frozen=True)
class MaintainedFiles:
    """One dataset of plain files."""

    spark: SparkSession
    dataset: Dataset
    writer: Writer
    listener: Listener

    @property
    def branch(self) -> str:
        """Files have no branches."""
        return NO_BRANCH

    @property
    def base(self) -> Base:
        """Files have no versions."""
        return NO_BASE

    @property
    def write_only(self) -> bool:
        """Files have no snapshots."""
        return False

    def head(self) -> int | None:
        """Files have no commits."""
        return None

    def find(self, write: Entry) -> Committed | JobError | None:
        """Nothing: maintenance leaves no mark, and is safe to repeat."""
        return None

    def perform(self, operation: Maintenance) -> MaintenanceResult:
        """Compact the files."""
        rewrite, compactor = self._checked(operation)
        rewritten, added, left, size = retry_overtaken(compactor, rewrite.partitions)
        facts = {"rewritten_files": rewritten, "added_files": added, "rewritten_bytes": size, "failed_files": left}
        if left:
            self.listener.warn(
                f"{self.dataset.address}: {left} files were not rewritten, because others replaced them first"
            )
        return MaintenanceResult(added, size, facts=facts)

    def preview(self, operation: Maintenance) -> MaintenanceResult:
        """Report which files a compaction would rewrite, by directory."""
        rewrite, compactor = self._checked(operation)
        found = groups(self._files(), compactor.limits, rewrite.partitions)
        parts = [
            {
                "partition": each.directory,
                "files": len(each.files),
                "bytes": each.bytes,
                "expected_files": each.expected(compactor.limits.target),
            }
            for each in found
        ]
        facts = {
            "rewritten_files": sum(len(each.files) for each in found),
            "rewritten_bytes": sum(each.bytes for each in found),
            "expected_files": sum(each.expected(compactor.limits.target) for each in found),
        }
        return MaintenanceResult(facts={**facts, "partitions": parts})

    def health(self, small_file_bytes: int | None) -> TableHealth:
        """The sizes of the files by directory."""
        last = self.writer.store.activity.last_compaction(self.dataset.target)
        return health_of(self.dataset, self._files(), small_file_bytes, last)

    def _files(self) -> Mapping[str, FileStatus]:
        compactor = FilesCompactor(self.spark, self.dataset, self.writer, self.listener, Limits())
        return required(self.dataset, visible(compactor.storage(), self.dataset))

    def _checked(self, operation: Maintenance) -> tuple[Rewrite, FilesCompactor]:
        if not isinstance(operation, Rewrite) or self.dataset.format not in COMPACTED:
            raise JobError(
                f"not supported yet: {operation.kind} on {self.dataset.format}",
                code="unsupported-actions",
                hint=f"files of {', '.join(sorted(COMPACTED))} can be compacted",
            )
        check_rewrite(self.dataset, operation)
        if operation.partitions:
            check_partitions(self.dataset, columns_of(self._files()), operation.partitions)
        limits = Limits.of(operation.properties)
        return operation, FilesCompactor(self.spark, self.dataset, self.writer, self.listener, limits)
