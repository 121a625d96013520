"""How well the files of an Iceberg table serve its readers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any

from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812

from catchment.formats.iceberg import snapshots
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.run_model import snapshot_name
from catchment.table_health import PartitionHealth, TableHealth, small_limit, table_health

TARGET, TARGET_DEFAULT = "write.target-file-size-bytes", 512 * 1024 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def health_of(maintained: MaintainedTable, small_file_bytes: int | None) -> TableHealth:
    """The live files by partition, from the manifests of the current snapshot."""
    maintained.table.refresh()
    metadata = json.loads(snapshots.metadata(maintained.spark, maintained.table))
    target = int(metadata.get("properties", {}).get(TARGET) or TARGET_DEFAULT)
    limit = small_limit(target, small_file_bytes)
    head = maintained.table.currentSnapshot()
    manifests = head.allManifests(maintained.table.io()).size() if head is not None else 0
    known = metadata.get("snapshots", ())
    parts = _partitions(maintained, limit, metadata) if head is not None else ()
    return table_health(
        maintained.dataset.address,
        snapshot_name(snapshots.current(metadata)),
        (target, limit),
        parts,
        manifests=int(manifests),
        snapshots=len(known),
        last_compaction=_last_compaction(known),
    )


def _partitions(maintained: MaintainedTable, limit: int, metadata: Mapping[str, Any]) -> Iterator[PartitionHealth]:
    times = {each.get("sequence-number", 0): each["timestamp-ms"] / 1000 for each in metadata["snapshots"]}
    spec = next(each for each in metadata["partition-specs"] if each["spec-id"] == metadata["default-spec-id"])
    fields = [field for field in spec["fields"] if field["transform"] != "void"]
    for row in _rows(maintained, limit):
        old = row.spec_id != spec["spec-id"]
        yield PartitionHealth(
            None if old else _values(fields, row),
            row.files,
            row.bytes,
            row.small_files,
            row.small_bytes,
            row.delete_files,
            changed=times.get(row.sequence),
        )


def _rows(maintained: MaintainedTable, limit: int) -> Sequence[Row]:
    entries = maintained.spark.table(f"{maintained.dataset.identifier}.entries").where("status < 2")
    is_data, size = F.col("data_file.content") == 0, F.col("data_file.file_size_in_bytes")
    small = is_data & (size < limit)
    by = [F.col("data_file.spec_id").alias("spec_id")]
    if "partition" in entries.schema["data_file"].dataType.fieldNames():
        by.append(F.col("data_file.partition").alias("partition"))
    found: Sequence[Row] = (
        entries.groupBy(*by)
        .agg(
            F.count(F.when(is_data, 1)).alias("files"),
            F.coalesce(F.sum(F.when(is_data, size)), F.lit(0)).alias("bytes"),
            F.count(F.when(small, 1)).alias("small_files"),
            F.coalesce(F.sum(F.when(small, size)), F.lit(0)).alias("small_bytes"),
            F.count(F.when(~is_data, 1)).alias("delete_files"),
            F.max("file_sequence_number").alias("sequence"),
        )
        .collect()
    )
    return found


def _values(fields: Sequence[Mapping[str, Any]], row: Row) -> dict[str, str | None]:
    found = row.asDict().get("partition")
    known = found.asDict() if found is not None else {}
    return {field["name"]: partition_text(field["transform"], known.get(field["name"])) for field in fields}


def partition_text(transform: str, value: Any) -> str | None:
    """The value of a partition field as the names of partitions spell it."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if transform == "year":
        return str(1970 + value)
    if transform == "month":
        return f"{1970 + value // 12:04}-{value % 12 + 1:02}"
    if transform == "day":
        return (_EPOCH + timedelta(days=value)).strftime("%Y-%m-%d")
    if transform == "hour":
        return (_EPOCH + timedelta(hours=value)).strftime("%Y-%m-%d-%H")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _last_compaction(known: Sequence[Mapping[str, Any]]) -> float | None:
    """The newest commit that replaced files, and no rows."""
    replaced = (each for each in reversed(known) if each.get("summary", {}).get("operation") == "replace")
    # Manifests are rewritten in such commits too, which add no file.
    return next((each["timestamp-ms"] / 1000 for each in replaced if "added-data-files" in each["summary"]), None)
