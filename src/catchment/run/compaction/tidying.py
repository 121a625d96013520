"""What a compaction does for a table as a whole: it merges manifests, and expires what the writers leave to it."""

from __future__ import annotations

from dataclasses import dataclass

from catchment.formats.registry import traits_of
from catchment.plan.model import Dataset
from catchment.project.model import Upkeep
from catchment.table_health import TableHealth

MANY_MANIFESTS = 100
"""Every query reads all manifests of a table, whatever partitions it needs."""


@dataclass(frozen=True)
class Tidying:
    """What a compaction of a table does beside its partitions."""

    merges_manifests: bool
    expires_snapshots: bool
    """Whether expiry is the compaction's job; there need not be anything to expire."""


def tidying_of(table: Dataset, found: TableHealth, upkeep: Upkeep, manifests_left: int = 0) -> Tidying:
    """What a compaction does for a table as it is; `manifests_left` is the number that the last merge has left."""
    many = (found.manifests or 0) - manifests_left >= MANY_MANIFESTS
    expires = found.write_only or upkeep.retention is not None
    return Tidying(
        merges_manifests=many and _supports(table, "rewrite_manifest"),
        expires_snapshots=expires and _supports(table, "expire_snapshots"),
    )


def _supports(table: Dataset, operation: str) -> bool:
    return traits_of(table.format).supports(operation, table.format)
