"""Changes of branches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.table import MAIN
from catchment.formats.iceberg.branches import fast_forward
from catchment.formats.iceberg.catalogs import Table


def forward_branch(
    spark: SparkSession, table: Table, arguments: Mapping[str, Any], by: str, *, dry_run: bool
) -> Mapping[str, Any]:
    """Bring one branch of a table to the head of another, or look what that would mean."""
    done = fast_forward(spark, table, arguments["branch"], arguments.get("to", MAIN), None if dry_run else by)
    return {
        "branch": done.branch,
        "to": done.to,
        "before": done.before,
        "after": done.after,
        "commits": list(done.commits),
        "snapshot_id": done.after,
        "changed": bool(done.commits),
    }
