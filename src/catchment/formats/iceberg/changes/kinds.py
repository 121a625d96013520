"""All kinds of metadata changes, and how one is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.formats.iceberg import catalogs
from catchment.formats.iceberg.changes import columns, current_snapshot, partition_fields, properties, refs
from catchment.formats.iceberg.changes.model import Kind
from catchment.formats.iceberg.changes.published_version import check_property_change, set_version
from catchment.formats.iceberg.changes.swap import commit
from catchment.formats.iceberg.snapshots import current
from catchment.formats.model import Requester
from catchment.plan.model import ChangeName, ChangePlan
from catchment.run_model import snapshot_name

KINDS: Mapping[ChangeName, Kind] = {
    "rollback": current_snapshot.ROLLBACK,
    "set_snapshot": current_snapshot.SET_SNAPSHOT,
    "tag_create": refs.TAG_CREATE,
    "tag_delete": refs.TAG_DELETE,
    "branch_create": refs.BRANCH_CREATE,
    "branch_delete": refs.BRANCH_DELETE,
    "branch_fast_forward": refs.FAST_FORWARD,
    "properties_set": properties.SET,
    "properties_unset": properties.UNSET,
    "column_add": columns.ADD,
    "column_drop": columns.DROP,
    "column_rename": columns.RENAME,
    "column_widen": columns.WIDEN,
    "partition_add": partition_fields.ADD,
    "partition_drop": partition_fields.DROP,
    "partition_replace": partition_fields.REPLACE,
}
"""All except `set_version`, which changes the published catalog, not the table."""


def make_change(
    spark: SparkSession, change: ChangePlan, requester: Requester, writer: Writer, listener: Listener, *, dry_run: bool
) -> Mapping[str, Any]:
    """Make a change, or preview it; a change that was made already is not made twice."""
    table = catalogs.require_table(spark, change.dataset)
    if change.name == "set_version":
        return set_version(spark, table, change, requester, writer, listener, dry_run=dry_run)
    kind, arguments, address = KINDS[change.name], change.arguments, change.dataset.address
    check_property_change(spark, change)
    with writer.admission(change.dataset, requester.by):
        staged = commit(
            spark, table, change.name, lambda tx, now: kind.stage(spark, tx, now, arguments), requester, dry_run=dry_run
        )
    return {
        "before": kind.view(staged.before, arguments),
        "after": kind.view(staged.after, arguments),
        **kind.report(staged, arguments),
        "pending": writer.ledger.count_pending(address),
        "snapshot_id": snapshot_name(current(staged.after)),
        "changed": staged.changed,
    }
