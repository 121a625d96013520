"""Reports about the snapshots of a Paimon table. No Spark here."""

from __future__ import annotations

from datetime import datetime, timezone

from catchment.formats import stamps
from catchment.formats.facts import Facts
from catchment.formats.paimon.snapshot_files import Snapshot
from catchment.run_model import snapshot_name


def snapshot_facts(found: Snapshot) -> Facts:
    """One snapshot, with the writes in it."""
    stamp, write_ids = found.stamp, list(found.write_ids)
    return {
        "snapshot_id": snapshot_name(found.id),
        "committed_at": datetime.fromtimestamp(found.millis / 1000, tz=timezone.utc).isoformat(timespec="milliseconds"),
        "operation": found.operation,
        "workflow": stamp.get(stamps.WORKFLOW),
        "job": stamp.get(stamps.JOB),
        "run_id": stamp.get(stamps.RUN),
        "write_ids": write_ids,
        "writes": [{"write_id": each, "rows": found.committed(each).rows} for each in write_ids],
        "added_rows": found.added_rows,
    }
