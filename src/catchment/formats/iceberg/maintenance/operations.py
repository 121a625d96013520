"""Maintenance operations of a table: runs or previews each one."""

from __future__ import annotations

from dataclasses import replace

from catchment.commit.committed import Committed
from catchment.errors import JobError
from catchment.formats.iceberg.maintenance.compaction import rewrite_files, rewrite_manifests
from catchment.formats.iceberg.maintenance.compaction_preview import preview_files, preview_manifests
from catchment.formats.iceberg.maintenance.expiry import choose, expire
from catchment.formats.iceberg.maintenance.health import health_of
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.maintenance.orphans import remove_orphans
from catchment.formats.iceberg.maintenance.retention import check_metadata_kept
from catchment.formats.iceberg.own_commits import find_commit
from catchment.formats.iceberg.table import MAIN, LakeTable
from catchment.formats.model import MaintenanceResult
from catchment.plan.model import Expire, Maintenance, RemoveOrphans, Rewrite, RewriteManifests
from catchment.store.writes import Base, Entry
from catchment.table_health import TableHealth


class Operations(MaintainedTable):
    """A table with its maintenance operations."""

    @property
    def branch(self) -> str:
        """Main: maintenance works on the table as a whole."""
        return MAIN

    @property
    def base(self) -> Base:
        """The head of main now."""
        return LakeTable(self.spark, self.table).base(MAIN)

    @property
    def write_only(self) -> bool:
        """Iceberg's writers remove no files; snapshots are expired by those who are asked to."""
        return False

    def find(self, write: Entry) -> Committed | JobError | None:
        """The commit of a write in the table's history."""
        return find_commit(self.spark, self.table, write)

    def perform(self, operation: Maintenance) -> MaintenanceResult:
        """Run one operation."""
        if not isinstance(operation, RemoveOrphans):
            check_metadata_kept(self)
        match operation:
            case Rewrite():
                return rewrite_files(self, operation)
            case RewriteManifests():
                return rewrite_manifests(self, operation)
            case Expire():
                return expire(self, operation)
            case RemoveOrphans():
                return remove_orphans(self, operation)

    def preview(self, operation: Maintenance) -> MaintenanceResult:
        """Report what one operation would do."""
        match operation:
            case Rewrite():
                return preview_files(self, operation)
            case RewriteManifests():
                return preview_manifests(self)
            case Expire():
                return MaintenanceResult(facts=choose(self, operation).facts())
            case RemoveOrphans():
                return self.perform(replace(operation, dry_run=True))

    def health(self, small_file_bytes: int | None) -> TableHealth:
        """The live files by partition."""
        return health_of(self, small_file_bytes)
