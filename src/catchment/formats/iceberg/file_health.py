"""How well the files of an Iceberg table serve its readers, from totals of its manifests. No Spark here."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from catchment.formats.epoch_days import date_text
from catchment.formats.iceberg import snapshots
from catchment.formats.iceberg.time_periods import TRANSFORMS, period_name
from catchment.run_model import snapshot_name
from catchment.table_health import PartitionHealth, TableHealth, small_limit, table_health

TARGET, TARGET_DEFAULT = "write.target-file-size-bytes", 512 * 1024 * 1024
_DAY_MICROS = 24 * 60 * 60 * 1_000_000


class PartitionFiles(NamedTuple):
    """The live files of one partition."""

    spec_id: int
    values: Mapping[str, Any]
    """By the names of partition fields; dates and times as the numbers that Iceberg stores."""
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
    fields, types = [field for field in spec["fields"] if field["transform"] != "void"], types_of(metadata)
    earlier = list[PartitionFiles]()
    for each in found:
        if each.spec_id == spec["spec-id"]:
            yield _health(_texts(fields, types, each.values), [each], times)
        else:
            earlier.append(each)
    if earlier:  # they may have rows of any partition, and are rewritten together
        yield _health(None, earlier, times)


def _health(
    partition: Mapping[str, str | None] | None, found: Sequence[PartitionFiles], times: Mapping[int | None, float]
) -> PartitionHealth:
    return PartitionHealth(
        partition,
        sum(each.files for each in found),
        sum(each.bytes for each in found),
        sum(each.small_files for each in found),
        sum(each.small_bytes for each in found),
        sum(each.delete_files for each in found),
        changed=times.get(max((each.sequence for each in found if each.sequence is not None), default=None)),
    )


def types_of(metadata: Mapping[str, Any]) -> dict[int, Any]:
    """The types of all columns that the table has or had, by their ids."""
    return dict(pair for schema in metadata["schemas"] for pair in _fields(schema["fields"]))


def _fields(fields: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Any]]:
    for field in fields:
        yield field["id"], field["type"]
        if isinstance(field["type"], Mapping) and field["type"]["type"] == "struct":
            yield from _fields(field["type"]["fields"])


def _texts(
    fields: Sequence[Mapping[str, Any]], types: Mapping[int, Any], values: Mapping[str, Any]
) -> dict[str, str | None]:
    return {
        field["name"]: partition_text(field["transform"], types.get(field["source-id"]), values.get(field["name"]))
        for field in fields
    }


def partition_text(transform: str, kind: str | None, value: Any) -> str | None:
    """The value of a partition field as people write it; `kind` is the type of its column."""
    if value is None:
        return None
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if transform in TRANSFORMS:
        return period_name(transform, value)
    if transform == "identity" and kind is not None and kind in _MOMENTS:
        return _MOMENTS[kind](value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _moment_text(micros: int) -> str:
    time = (datetime.min + timedelta(microseconds=micros % _DAY_MICROS)).time()
    return f"{date_text(micros // _DAY_MICROS)}T{time.isoformat()}"


_MOMENTS: Mapping[str, Callable[[int], str]] = {
    "date": date_text,
    "timestamp": _moment_text,
    "timestamptz": lambda micros: f"{_moment_text(micros)}+00:00",
}
"""How the numbers in columns of dates and times are written."""


def _last_compaction(known: Sequence[Mapping[str, Any]]) -> float | None:
    """When the newest compaction was committed: it replaced files, but no rows."""
    replaced = (each for each in reversed(known) if each.get("summary", {}).get("operation") == "replace")
    # Manifests are rewritten in such commits too, which add no file.
    return next((each["timestamp-ms"] / 1000 for each in replaced if "added-data-files" in each["summary"]), None)
