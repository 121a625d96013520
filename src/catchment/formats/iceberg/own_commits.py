"""Looks up writes that were committed without a seal in the table's history, parts of which may have expired."""

from __future__ import annotations

from pyspark.sql import SparkSession

from catchment.commit.committed import Committed
from catchment.errors import JobError
from catchment.formats.iceberg import snapshot_lookup
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.table import LakeTable
from catchment.formats.publish_errors import fate_unknown
from catchment.store.writes import Entry


def find_commit(spark: SparkSession, table: Table, write: Entry) -> Committed | JobError | None:
    """The commit of a write; the error if the snapshots that would show it have expired; None if it was not made."""
    table.refresh()
    if (found := snapshot_lookup.find_write(spark, table, write.write_id)) is not None:
        return found.committed()
    return fate_unknown(write) if _may_have_expired(LakeTable(spark, table), write) else None


def _may_have_expired(table: LakeTable, write: Entry) -> bool:
    # Maintenance changes no rows and is simply repeated. If the table was dropped, the rows of the write went with it.
    meant_for_it = write.intent.mode != "maintain" and table.uuid == write.intent.base.table_uuid
    return meant_for_it and not table.has_history_since(write.intent.base)
