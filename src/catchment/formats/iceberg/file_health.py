"""How well the files of an Iceberg table serve its readers, from totals of its manifests. No Spark here."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any, NamedTuple

from catchment.formats.iceberg import snapshots
from catchment.run_model import snapshot_name
from catchment.table_health import PartitionHealth, TableHealth, small_limit, table_health

TARGET, TARGET_DEFAULT = "write.target-file-size-bytes", 512 * 1024 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class PartitionFiles(NamedTuple):
    """The live files of one partition."""

    spec_id: int
    values: Mapping[str, Any]
    """By the names of partition fields."""
    files: int
    bytes: int
    small_files: int
    small_bytes: int
    delete_files: int
    sequence: int | None
    """The sequence number of the newest file."""


def size_limits(metadata: Mapping[str, Any], small_file_bytes: int | None) -> tuple[int, int]:
    """The size that the table's files aim at, and the size below which a file counts as small."""
    target = int(metadata.get("properties", {}).get(TARGET) or TARGET_DEFAULT)
    return target, small_limit(target, small_file_bytes)


def health_of(
    address: str,
    metadata: Mapping[str, Any],
    limits: tuple[int, int],
    found: Iterable[PartitionFiles],
    manifests: int,
) -> TableHealth:
    """The health of a table with these live files."""
    known = metadata.get("snapshots", ())
    return table_health(
        address,
        snapshot_name(snapshots.current(metadata)),
        limits,
        _partitions(metadata, found),
        manifests=manifests,
        snapshots=len(known),
        last_compaction=_last_compaction(known),
    )


def _partitions(metadata: Mapping[str, Any], found: Iterable[PartitionFiles]) -> Iterator[PartitionHealth]:
    times = {each.get("sequence-number", 0): each["timestamp-ms"] / 1000 for each in metadata.get("snapshots", ())}
    spec = next(each for each in metadata["partition-specs"] if each["spec-id"] == metadata["default-spec-id"])
    fields = [field for field in spec["fields"] if field["transform"] != "void"]
    for each in found:
        yield PartitionHealth(
            _texts(fields, each.values) if each.spec_id == spec["spec-id"] else None,
            each.files,
            each.bytes,
            each.small_files,
            each.small_bytes,
            each.delete_files,
            changed=times.get(each.sequence),
        )


def _texts(fields: Sequence[Mapping[str, Any]], values: Mapping[str, Any]) -> dict[str, str | None]:
    return {field["name"]: partition_text(field["transform"], values.get(field["name"])) for field in fields}


def partition_text(transform: str, value: Any) -> str | None:
    """The value of a partition field, spelled as in partition names."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
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
    """When the newest compaction was committed: it replaced files, but no rows."""
    replaced = (each for each in reversed(known) if each.get("summary", {}).get("operation") == "replace")
    # Manifests are rewritten in such commits too, which add no file.
    return next((each["timestamp-ms"] / 1000 for each in replaced if "added-data-files" in each["summary"]), None)
