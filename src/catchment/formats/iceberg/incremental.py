"""What was appended to a table between two of its snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.formats import history
from catchment.formats.iceberg import catalogs
from catchment.formats.iceberg.table import MAIN, LakeTable
from catchment.plan.model import InputPlan

ADDS = frozenset({"append", "replace"})
"""Operations that leave the rows that were there as they are; `replace` only moves them (compaction)."""


def span(spark: SparkSession, source: InputPlan, known: str | None) -> tuple[str | None, str] | None:
    """From after the snapshot that was read last to the newest one; None where the table is empty."""
    metadata = LakeTable(spark, catalogs.require_table(spark, source.dataset)).metadata()
    newest = metadata.get("refs", {}).get(MAIN, {}).get("snapshot-id") or metadata.get("current-snapshot-id")
    if newest in (None, -1):
        return None
    line = _line(metadata, newest)
    first = int(known) if known is not None else _at(source, line, history.since(source))
    if first is not None:
        _check(source, line, first)
    return (None if first is None else str(first)), str(newest)


def read(spark: SparkSession, source: InputPlan, first: str | None, last: str) -> DataFrame:
    """The rows that were appended after one snapshot, up to another."""
    # The window may have been begun long ago: what it was begun over must still be there.
    line = _line(LakeTable(spark, catalogs.require_table(spark, source.dataset)).metadata(), int(last))
    if not line:
        raise history.gone(source, f"the snapshot {last}, up to which a window was begun,")
    if first is not None:
        _check(source, line, int(first))
    span = {"versionAsOf": last} if first is None else {"start-snapshot-id": first, "end-snapshot-id": last}
    return spark.read.format("iceberg").options(**source.options, **span).load(source.dataset.identifier)


def _line(metadata: Mapping[str, Any], newest: int) -> list[Mapping[str, Any]]:
    """The snapshots that led to the newest one, from it back to the oldest that is still there."""
    known = {entry["snapshot-id"]: entry for entry in metadata.get("snapshots", ())}

    def walk(at: int | None) -> Iterator[Mapping[str, Any]]:
        while at is not None and at in known:
            yield known[at]
            at = known[at].get("parent-snapshot-id")

    return list(walk(newest))


def _at(source: InputPlan, line: list[Mapping[str, Any]], moment: datetime | None) -> int | None:
    """The snapshot that was current at a moment; None where the table had none yet."""
    if moment is None:
        return None
    millis = moment.timestamp() * 1000
    before = next((entry for entry in line if entry["timestamp-ms"] <= millis), None)
    if before is not None:
        return int(before["snapshot-id"])
    if line[-1].get("parent-snapshot-id") is not None:
        raise history.gone(source, f"what was current at {moment.isoformat()}")
    return None


def _check(source: InputPlan, line: list[Mapping[str, Any]], first: int) -> None:
    later = []
    for entry in line:
        if entry["snapshot-id"] == first:
            break
        later.append(entry)
    else:
        raise history.gone(source, f"the snapshot {first}, which was read last,")
    for entry in reversed(later):
        operation = entry.get("summary", {}).get("operation", "append")
        if operation not in ADDS:
            raise history.overwritten(source, entry["snapshot-id"], operation)
