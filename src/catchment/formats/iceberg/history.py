"""A table's history: its snapshots, and which writes they hold."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.wrapped import Committed
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.model import Written
from catchment.formats.stamps import INPUTS, MODE, WRITE_ROWS, WRITES

CHANGED = tuple(f"spark.merge-into.num-target-rows-{how}" for how in ("inserted", "updated", "deleted"))
"""What a merge did, where Spark tells (from 4.1 on); the rows that a snapshot adds include those that merely moved."""


@dataclass(frozen=True)
class Snapshot:
    """One state of a table."""

    id: int
    committed_at: str
    """ISO-8601, UTC."""
    summary: Mapping[str, str]

    @property
    def write_ids(self) -> tuple[str, ...]:
        return tuple(part for part in self.summary.get(WRITES, "").split(",") if part)

    @property
    def writes(self) -> tuple[tuple[str, int | None], ...]:
        """The writes in this snapshot with the rows of each; None where a snapshot of several does not tell."""
        rows = [int(part) for part in self.summary.get(WRITE_ROWS, "").split(",") if part]
        if len(self.write_ids) == 1 and not rows:
            rows = [self.written().rows or 0]
        known = len(rows) == len(self.write_ids)
        return tuple(zip(self.write_ids, rows if known else itertools.repeat(None), strict=False))

    @property
    def inputs(self) -> Mapping[str, str]:
        """The states of the inputs that a direct commit came from."""
        return dict(json.loads(self.summary.get(INPUTS, "{}")))

    def written(self) -> Written:
        """What the write that made this snapshot came to."""
        return Written(rows=self._rows(), files=self._count("added-data-files"), snapshot_id=self.id)

    def _rows(self) -> int:
        if self.summary.get(MODE) == "delete":
            # Files with rows that stay are written anew without the others, or get a list of those that go.
            marked = self._count("added-position-deletes") + self._count("added-equality-deletes")
            return self._count("deleted-records") - self._count("added-records") + marked
        changed = [self._count(key) for key in CHANGED if key in self.summary]
        return sum(changed) if changed else self._count("added-records")

    def _count(self, key: str) -> int:
        return int(self.summary.get(key, "0"))

    def committed(self) -> Committed:
        """The same for the ledger."""
        done, size = self.written(), int(self.summary.get("added-files-size", "0"))
        return Committed(self.id, done.rows or 0, size, done.files or 0)


def metadata(spark: SparkSession, table: Table) -> str:
    """The table's metadata as the JSON of the table spec: one crossing of the gateway, however long the history."""
    current = table.operations().current()
    return str(spark._jvm.org.apache.iceberg.TableMetadataParser.toJson(current))


def snapshots(text: str) -> list[Snapshot]:
    """All snapshots in table metadata, oldest first."""
    return [_snapshot(entry) for entry in json.loads(text).get("snapshots", ())]


def find_write(spark: SparkSession, table: Table, write_id: str) -> Snapshot | None:
    """The snapshot that holds a write, None while it has not been committed."""
    text = metadata(spark, table)
    if json.dumps(write_id)[1:-1] not in text:
        return None
    return next((snapshot for snapshot in reversed(snapshots(text)) if write_id in snapshot.write_ids), None)


def _snapshot(entry: Mapping[str, Any]) -> Snapshot:
    committed = datetime.fromtimestamp(entry["timestamp-ms"] / 1000, tz=timezone.utc)
    return Snapshot(entry["snapshot-id"], committed.isoformat(timespec="milliseconds"), entry.get("summary", {}))
