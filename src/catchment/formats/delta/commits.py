"""Commits of a Delta table, as recorded in its log. No Spark here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catchment.commit.committed import Committed
from catchment.formats.stamps import WRITE_BYTES, WRITE_FILES, WRITE_ROWS, WRITES, split

COMMIT = '{"commitInfo"'
"""The beginning of the line that describes a commit."""
COUNTS = (WRITE_ROWS, WRITE_BYTES, WRITE_FILES)
WRITTEN = (("numOutputRows",), ("numOutputBytes",), ("numFiles",))
MERGED = (
    tuple(f"numTargetRows{how}" for how in ("Inserted", "Updated", "Deleted")),
    ("numTargetBytesAdded",),
    ("numTargetFilesAdded",),
)
"""The metrics that count rows, bytes and files. The rows that a merge writes include rows that it only moved."""


@dataclass(frozen=True)
class Commit:
    """One version of the table, with its commit info."""

    version: int
    info: Mapping[str, Any]

    @property
    def stamp(self) -> Mapping[str, str]:
        """The properties that Catchment has added; empty if others made the commit."""
        try:
            stamp = json.loads(self.info.get("userMetadata") or "{}")
        except ValueError:
            return {}
        return stamp if isinstance(stamp, dict) else {}

    @property
    def write_ids(self) -> tuple[str, ...]:
        """The ids of its writes."""
        return split(self.stamp.get(WRITES))

    def committed(self, write_id: str | None = None) -> Committed:
        """The result of the commit, or of one of its writes."""
        if write_id is not None and len(self.write_ids) > 1:
            at = self.write_ids.index(write_id)
            return Committed(self.version, *(int(split(self.stamp[key])[at]) for key in COUNTS))
        metrics = self.info.get("operationMetrics") or {}
        rows, size, files = MERGED if self.info.get("operation") == "MERGE" else WRITTEN
        counted = [sum(int(metrics.get(key, 0)) for key in keys) for keys in (rows, size, files)]
        return Committed(self.version, *counted)
