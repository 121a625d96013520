"""Inspection of Iceberg tables for `catchment table`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import SparkSession

from catchment.formats import stamps
from catchment.formats.iceberg import catalogs, snapshots
from catchment.formats.iceberg.published import PublishedTable
from catchment.formats.iceberg.versions import Version, Versions
from catchment.formats.model import Facts
from catchment.plan.model import Dataset
from catchment.run_model import snapshot_name


def inspect(spark: SparkSession, what: str, dataset: Dataset, published: str | None) -> Facts:
    """Answer one question about a table."""
    table = catalogs.require_table(spark, dataset)
    text = snapshots.metadata(spark, table)
    if what == "snapshots":
        return {"snapshots": [_snapshot(snapshot) for snapshot in snapshots.snapshots(text)]}
    if what == "metadata":
        location = table.operations().current().metadataFileLocation()
        return _metadata(dataset, str(location), json.loads(text))
    if what == "versions":
        return {"versions": list(_versions(spark, dataset, published))}
    return _files(spark, dataset) if what == "files" else _table(dataset, json.loads(text))


def tables(spark: SparkSession, depot: str) -> list[Facts]:
    """Every table of a catalog."""
    catalog = catalogs.open_catalog(spark, depot)
    return [
        {"namespace": str(namespace), "table": name, "address": f"dataos://{depot}:{namespace}/{name}"}
        for namespace in sorted(catalog.listNamespaces(), key=str)
        for name in sorted(str(found.name()) for found in catalog.listTables(namespace))
    ]


def _versions(spark: SparkSession, dataset: Dataset, catalog: str | None) -> Iterator[Facts]:
    """The versions of a table, oldest first; a published version that the table no longer lists comes first."""
    versions = Versions(spark, catalogs.require_table(spark, dataset))
    pointer = PublishedTable(spark, catalog, dataset).pointer() if catalog else None
    known = versions.known()
    if pointer and pointer.location not in {version.location for version in known}:
        known = (Version(pointer.location), *known)
    for version in map(versions.read_metadata, known):
        yield {
            "version": version.number,
            "file": version.file,
            "committed_at": version.at,
            "snapshot_id": snapshot_name(version.snapshot_id),
            "working": version.location == known[-1].location,
            "published": pointer is not None and version.location == pointer.location,
            "readable": version.readable,
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


def _table(dataset: Dataset, metadata: Mapping[str, Any]) -> Facts:
    schema = next(each for each in metadata["schemas"] if each["schema-id"] == metadata["current-schema-id"])
    spec = next(each for each in metadata["partition-specs"] if each["spec-id"] == metadata["default-spec-id"])
    names = {field["id"]: field["name"] for field in schema["fields"]}
    current = metadata.get("current-snapshot-id")
    summary: Mapping[str, str] = next(
        (each["summary"] for each in metadata["snapshots"] if each["snapshot-id"] == current), {}
    )
    return {
        "address": dataset.address,
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
        "properties": metadata.get("properties", {}),
        "rows": int(summary.get("total-records", 0)),
        "files": int(summary.get("total-data-files", 0)),
        "bytes": int(summary.get("total-files-size", 0)),
        "snapshot_id": snapshot_name(current) if summary else None,
        "snapshots": len(metadata["snapshots"]),
    }


def _metadata(dataset: Dataset, location: str, metadata: Mapping[str, Any]) -> Facts:
    updated = datetime.fromtimestamp(metadata["last-updated-ms"] / 1000, tz=timezone.utc)
    return {
        "address": dataset.address,
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
    kind = field["type"] if isinstance(field["type"], str) else json.dumps(field["type"])
    return {"name": field["name"], "type": kind, "required": field["required"], "comment": field.get("doc")}


def _files(spark: SparkSession, dataset: Dataset) -> Facts:
    columns = ("file_path", "file_format", "record_count", "file_size_in_bytes", "spec_id")
    rows = spark.table(f"{dataset.identifier}.files").select(*columns).orderBy("file_path").collect()
    return {"files": [{"path": r[0], "format": r[1], "rows": r[2], "bytes": r[3], "spec_id": r[4]} for r in rows]}
