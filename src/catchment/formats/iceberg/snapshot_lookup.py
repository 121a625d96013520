"""Looks for writes and windows in the snapshots of a table, through Iceberg's Java API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import SparkSession

from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.snapshots import Snapshot, snapshots
from catchment.formats.stamps import WINDOWS, windows_in


def metadata(spark: SparkSession, table: Table) -> str:
    """The table's metadata as JSON of the table spec, with a single call to the JVM."""
    current = table.operations().current()
    return str(spark._jvm.org.apache.iceberg.TableMetadataParser.toJson(current))


def find_write(spark: SparkSession, table: Table, write_id: str) -> Snapshot | None:
    """The snapshot with a write; None if it is not committed."""
    text = metadata(spark, table)
    if json.dumps(write_id)[1:-1] not in text:
        return None
    return next(
        (snapshot for snapshot in reversed(snapshots(json.loads(text))) if write_id in snapshot.write_ids), None
    )


def windows_since(spark: SparkSession, table: Table, since: float) -> Iterator[Mapping[str, Any]]:
    """The windows of incremental jobs in the snapshots since a time, the newest first."""
    text = metadata(spark, table)
    if WINDOWS not in text:
        return
    for entry in reversed(json.loads(text).get("snapshots", ())):
        if entry["timestamp-ms"] / 1000 >= since:
            yield from reversed(windows_in(entry.get("summary", {})))
