"""Changes of tables beside writing rows into them: the answer for `catchment table …` and for jobs of the toolbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.listener import Listener
from catchment.commit.patience import patiently
from catchment.commit.writer import Writer
from catchment.engine.failures import from_spark
from catchment.formats.iceberg import catalogs, snapshots
from catchment.formats.iceberg.changes import columns, current_snapshot, partition_fields, properties, refs
from catchment.formats.iceberg.changes.published_version import check_still_kept, set_version
from catchment.formats.iceberg.changes.swap import commit
from catchment.maintain.model import Asker, Kind
from catchment.plan.model import ChangeName, ChangePlan

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
"""All but `set_version`, which changes nothing in the table."""


def make_change(
    spark: SparkSession,
    change: ChangePlan,
    asker: Asker,
    writer: Writer,
    listener: Listener,
    *,
    dry_run: bool = False,
) -> Mapping[str, Any]:
    """Make a change, or look what it would come to; made already, it is not made twice."""
    try:
        table = catalogs.require_table(spark, change.dataset)
        if change.name == "set_version":
            facts = set_version(spark, table, change, asker, writer, listener, dry_run=dry_run)
        else:
            facts = _made(spark, table, change, asker, writer, dry_run=dry_run)
    except Exception as error:
        problem = from_spark(error, otherwise="change-failed")
        raise problem.changed(message=f"{change.dataset.address}: {problem.message}").at(change.where) from error
    return {"address": change.dataset.address, "change": change.name, **facts, "by": asker.by, "dry_run": dry_run}


def _made(
    spark: SparkSession, table: catalogs.Table, change: ChangePlan, asker: Asker, writer: Writer, *, dry_run: bool
) -> Mapping[str, Any]:
    kind, arguments, address = KINDS[change.name], change.arguments, change.dataset.address
    check_still_kept(spark, change)
    with writer.admission(change.dataset.depot, address, asker.by):
        staged = commit(
            spark, table, change.name, lambda tx, now: kind.stage(spark, tx, now, arguments), asker, dry_run=dry_run
        )
    return {
        "before": kind.view(staged.before, arguments),
        "after": kind.view(staged.after, arguments),
        **kind.tell(staged, arguments),
        "pending": patiently(lambda: writer.ledger.count_pending(address)),
        "snapshot_id": snapshots.current(staged.after),
        "changed": staged.changed,
    }
