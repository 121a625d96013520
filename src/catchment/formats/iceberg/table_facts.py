"""Reports about an Iceberg table, from its metadata as JSON of the table spec. No Spark here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from catchment.formats import stamps
from catchment.formats.facts import Facts
from catchment.formats.iceberg import snapshots
from catchment.formats.iceberg.metadata_files import Version
from catchment.run_model import snapshot_name

Metadata = Mapping[str, Any]
_ORDER = (
    *("id", "name", "required", "type", "doc", "fields", "element-id", "element", "element-required"),
    *("key-id", "key", "value-id", "value", "value-required"),
)
"""The order of the keys of nested types, as in Iceberg itself."""


def snapshots_facts(metadata: Metadata) -> Facts:
    """Every snapshot with the writes in it, oldest first."""
    return {"snapshots": [_snapshot(snapshot) for snapshot in snapshots.snapshots(metadata)]}


def versions_facts(versions: Iterable[Version], current: str, published: str | None) -> Facts:
    """Every version whose file was read, with the locations of the current and of the published one."""
    return {
        "versions": [
            {
                "version": version.number,
                "file": version.file,
                "committed_at": version.at,
                "snapshot_id": snapshot_name(version.snapshot_id),
                "working": version.location == current,
                "published": published is not None and version.location == published,
                "readable": version.readable,
            }
            for version in versions
        ]
    }


def _snapshot(snapshot: snapshots.Snapshot) -> Facts:
    summary = snapshot.summary
    return {
        "snapshot_id": snapshot_name(snapshot.id),
        "committed_at": snapshot.committed_at,
        "operation": summary.get("operation"),
        "workflow": summary.get(stamps.WORKFLOW),
        "job": summary.get(stamps.JOB),
        "run_id": summary.get(stamps.RUN),
        "write_ids": list(snapshot.write_ids),
        "writes": [{"write_id": write_id, "rows": rows} for write_id, rows in snapshot.writes],
        "added_rows": snapshot.written().rows,
    }


def table_facts(address: str, metadata: Metadata) -> Facts:
    """Columns, partitions, refs, properties and size of the current snapshot."""
    schema = next(each for each in metadata["schemas"] if each["schema-id"] == metadata["current-schema-id"])
    spec = next(each for each in metadata["partition-specs"] if each["spec-id"] == metadata["default-spec-id"])
    names = {field["id"]: field["name"] for field in schema["fields"]}
    current = metadata.get("current-snapshot-id")
    summary: Mapping[str, str] = next(
        (each["summary"] for each in metadata["snapshots"] if each["snapshot-id"] == current), {}
    )
    return {
        "address": address,
        "location": metadata["location"],
        "format_version": metadata["format-version"],
        "columns": [_column(field) for field in schema["fields"]],
        "partitions": [
            {"name": field["name"], "transform": field["transform"], "column": names.get(field["source-id"])}
            for field in spec["fields"]
        ],
        "branches": [
            {"name": name, "snapshot_id": snapshot_name(ref["snapshot-id"])}
            for name, ref in sorted(metadata.get("refs", {}).items())
            if ref["type"] == "branch"
        ],
        "tags": [
            {"name": name, "snapshot_id": snapshot_name(ref["snapshot-id"])}
            for name, ref in sorted(metadata.get("refs", {}).items())
            if ref["type"] == "tag"
        ],
        "properties": dict(sorted(metadata.get("properties", {}).items())),
        "rows": int(summary.get("total-records", 0)),
        "files": int(summary.get("total-data-files", 0)),
        "bytes": int(summary.get("total-files-size", 0)),
        "snapshot_id": snapshot_name(current) if summary else None,
        "snapshots": len(metadata["snapshots"]),
    }


def metadata_facts(address: str, location: str, metadata: Metadata) -> Facts:
    """Ids, and the numbers of schemas, specs, snapshots and refs."""
    updated = datetime.fromtimestamp(metadata["last-updated-ms"] / 1000, tz=timezone.utc)
    return {
        "address": address,
        "file": location.rpartition("/")[2],
        "metadata_location": location,
        "location": metadata["location"],
        "table_uuid": metadata.get("table-uuid"),
        "format_version": metadata["format-version"],
        "updated_at": updated.isoformat(timespec="milliseconds"),
        "sequence_number": metadata.get("last-sequence-number", 0),
        "schema_id": metadata["current-schema-id"],
        "schemas": len(metadata["schemas"]),
        "spec_id": metadata["default-spec-id"],
        "specs": len(metadata["partition-specs"]),
        "sort_order_id": metadata.get("default-sort-order-id"),
        "snapshot_id": snapshot_name(snapshots.current(metadata)),
        "snapshots": len(metadata.get("snapshots", ())),
        "refs": len(metadata.get("refs", {})),
        "versions": len(metadata.get("metadata-log", ())) + 1,
    }


def _column(field: Mapping[str, Any]) -> Facts:
    kind = field["type"] if isinstance(field["type"], str) else json.dumps(_spelled(field["type"]))
    return {"name": field["name"], "type": kind, "required": field["required"], "comment": field.get("doc")}


def _spelled(part: Any) -> Any:
    """A nested type with its keys in one order, regardless of which program wrote it."""
    if isinstance(part, list):
        return [_spelled(each) for each in part]
    if not isinstance(part, Mapping):
        return part
    named = [key for key in _ORDER if key in part] + [key for key in part if key not in _ORDER]
    return {key: _spelled(part[key]) for key in named}
