"""Writes as the ledger's tests need them."""

from __future__ import annotations

from catchment.store.writes import Base, Contents, Intent

TABLE = "dataos://lake:raw/trips"
FILE = {"file-path": "s3a://lake/x.parquet", "record-count": 3, "file-size-in-bytes": 120, "spec-id": 0}
CONTENTS = Contents((FILE, {**FILE, "file-path": "ünï.parquet"}), rows=6, bytes=240, files=2)
NOTHING = Contents((), 0, 0, 0)
ERROR = {"code": "table-replaced", "message": "gone", "hint": None, "conflict": False}


def intent(write_id: str = "r1/job/out", *, attempt: int = 1, target: str = TABLE, owner: str = "engine/1") -> Intent:
    """An attempt at a write; every attempt has a buffer of its own."""
    buffer = f"s3a://lake/trips/data/{write_id.replace('/', '.')}.{attempt}"
    base = Base("5f0c", schema_id=2, sequence=2**40, snapshot_id=2**62)
    dataset = {"address": target, "depot": "lake", "format": "iceberg", "namespace": "raw", "table": "trips"}
    return Intent(write_id, "taxi", target, "main", "append", "last-wins", owner, buffer, base, dataset)
