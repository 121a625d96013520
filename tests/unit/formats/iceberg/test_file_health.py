from __future__ import annotations

from typing import Any

from catchment.formats.iceberg.file_health import PartitionFiles, health_of
from catchment.table_health import PartitionHealth

METADATA: dict[str, Any] = {
    "schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "day", "required": False, "type": "date"}]}],
    "partition-specs": [
        {"spec-id": 0, "fields": [{"name": "day", "transform": "identity", "source-id": 1}]},
        {"spec-id": 1, "fields": [{"name": "day_month", "transform": "month", "source-id": 1}]},
    ],
    "default-spec-id": 1,
    "current-snapshot-id": 7,
    "snapshots": [
        {"snapshot-id": number, "sequence-number": number, "timestamp-ms": number * 1000, "summary": {}}
        for number in range(8)
    ],
}


def test_files_of_earlier_partitionings_count_together() -> None:
    """One rewrite takes all of them, whatever partitions they were in."""
    found = [
        PartitionFiles(0, {"day": 20513, "day_month": None}, 3, 30, 2, 20, 1, 4),
        PartitionFiles(1, {"day": None, "day_month": 674}, 9, 90, 9, 90, 0, 6),
        PartitionFiles(0, {"day": None, "day_month": None}, 5, 50, 4, 40, 0, None),
    ]
    health = health_of("dataos://lake:raw/t", METADATA, (1000, 100), found, 1)
    assert health.partitions == (
        PartitionHealth({"day_month": "2026-03"}, 9, 90, 9, 90, changed=6.0),
        PartitionHealth(None, 8, 80, 6, 60, 1, changed=4.0),
    )
    assert (health.files, health.partition_count) == (17, 2)
