"""An Iceberg table without data: its row in a catalog, and its metadata file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

METADATA: dict[str, Any] = {
    "location": "/lake/raw/t",
    "format-version": 2,
    "last-updated-ms": 1000,
    "schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}],
    "current-schema-id": 0,
    "partition-specs": [{"spec-id": 0, "fields": []}],
    "default-spec-id": 0,
    "current-snapshot-id": 7,
    "snapshots": [{"snapshot-id": 7, "timestamp-ms": 1000, "summary": {"total-records": "3"}}],
}


def make(directory: Path, metadata: bytes | None = None) -> Path:
    """Make the table `lake.raw.t` in a catalog of the earlier form; returns its metadata file."""
    directory.mkdir(parents=True, exist_ok=True)
    place = directory / "0.json"
    place.write_bytes(json.dumps(METADATA).encode() if metadata is None else metadata)
    with closing(sqlite3.connect(directory / "catalog.db")) as connection, connection:
        connection.execute("CREATE TABLE iceberg_tables (catalog_name, table_namespace, table_name, metadata_location)")
        connection.execute("INSERT INTO iceberg_tables VALUES ('lake', 'raw', 't', ?)", (str(place),))
    return place
