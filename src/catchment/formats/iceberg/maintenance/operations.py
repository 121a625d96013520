"""Maintenance of a table: which operation is done by whom."""

from __future__ import annotations

from dataclasses import replace

from catchment.commit.own_commit import Committed
from catchment.formats.iceberg import snapshots
from catchment.formats.iceberg.maintenance.compaction import (
    look_at_files,
    look_at_manifests,
    rewrite_files,
    rewrite_manifests,
)
from catchment.formats.iceberg.maintenance.expiry import choose, expire
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.maintenance.orphans import remove_orphans
from catchment.formats.iceberg.maintenance.retention import require_kept
from catchment.formats.iceberg.table import MAIN, LakeTable
from catchment.formats.model import MaintenanceResult
from catchment.plan.model import Expire, Maintenance, RemoveOrphans, Rewrite, RewriteManifests
from catchment.store.writes import Base


class Operations(MaintainedTable):
    """A table, and what can be done to keep it in order."""

    @property
    def branch(self) -> str:
        """Main: maintenance is for the table as a whole."""
        return MAIN

    @property
    def base(self) -> Base:
        """The head of main now."""
        return LakeTable(self.spark, self.table).base(MAIN)

    def find(self, write_id: str) -> Committed | None:
        """What a write came to that Iceberg has committed by itself."""
        found = snapshots.find_write(self.spark, self.table, write_id)
        return found.committed() if found else None

    def perform(self, operation: Maintenance) -> MaintenanceResult:
        """Do one operation."""
        if not isinstance(operation, RemoveOrphans):
            require_kept(self)
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
        """What one operation would come to."""
        match operation:
            case Rewrite():
                return look_at_files(self, operation)
            case RewriteManifests():
                return look_at_manifests(self)
            case Expire():
                return MaintenanceResult(facts=choose(self, operation).facts())
            case RemoveOrphans():
                return self.perform(replace(operation, dry_run=True))
