"""Detects changes of a table's definition since a write began: changed columns, or a replaced table."""

from __future__ import annotations

from typing import Any

from catchment.formats.iceberg.table import LakeTable
from catchment.store.writes import Base


def was_redefined(table: LakeTable, base: Base) -> bool:
    """Whether the table was replaced since the base: its id stays, but its main branch starts over."""
    if base.snapshot_id is None:
        return False  # it was empty; whether its columns fit is checked separately
    head, util = table.java.currentSnapshot(), table.jvm.iceberg("util.SnapshotUtil")
    if head is None:
        return True
    if table.java.snapshot(base.snapshot_id) is None:
        return False  # it has expired, or the catalog shows only the newest one: then this is unknown
    if util.isAncestorOf(table.java, head.snapshotId(), base.snapshot_id):
        return False
    oldest = util.oldestAncestorOf(table.java, head.snapshotId())
    # After a rollback the oldest ancestor is older than the base; after an expiry it has a parent that is gone.
    return oldest.parentId() is None and int(oldest.sequenceNumber()) > max(base.sequence, 0)


def schema_change(table: LakeTable, schema_id: int) -> str | None:
    """The change of a table's columns that makes files of an older schema unusable; None if they still fit."""
    schema = table.java.schema()
    then, types = table.java.schemas().get(schema_id), table.jvm.iceberg("types.TypeUtil")
    if then is None:
        return "has forgotten the columns that it had"
    before, now = types.indexById(then.asStruct()), types.indexById(schema.asStruct())
    for number in now:
        how = _change(types, before.get(number), now[number])
        if how is not None:
            return how.format(column=schema.findColumnName(number))
    return None


def _change(types: Any, then: Any | None, now: Any) -> str | None:
    """The change of a column or nested field, if older files cannot be read with it; otherwise None."""
    if then is None:
        return "got the required column {column}" if now.isRequired() else None
    if then.isOptional() and now.isRequired():
        return "made {column} required"
    if now.type().isPrimitiveType():
        fits = types.isPromotionAllowed(then.type(), now.type().asPrimitiveType())
    else:
        fits = then.type().typeId().equals(now.type().typeId())
    return None if fits else f"changed {{column}} from {then.type().toString()} to {now.type().toString()}"
