"""Snapshots of a table, read from its metadata: ancestors, branch heads, and the writes in each snapshot. No Spark."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from catchment.commit.committed import Committed
from catchment.errors import JobError
from catchment.formats.stamps import INPUTS, MODE, WRITE_ROWS, WRITES
from catchment.formats.write_model import Written


def current(metadata: Mapping[str, Any]) -> int | None:
    """The current snapshot of main; None if there is none yet."""
    found = metadata.get("current-snapshot-id")
    return None if found in (None, -1) else int(found)


def line(metadata: Mapping[str, Any], head: int | None) -> list[int]:
    """A snapshot and its ancestors that still exist, oldest first."""
    parents = {entry["snapshot-id"]: entry.get("parent-snapshot-id") for entry in metadata.get("snapshots", ())}
    found: list[int] = []
    while head is not None and head in parents:
        found.append(head)
        head = parents[head]
    return found[::-1]


def branch_head(metadata: Mapping[str, Any], branch: str) -> int:
    """The head of a branch; raises if there is no such branch."""
    refs = metadata.get("refs", {})
    if branch not in refs or refs[branch]["type"] != "branch":
        known = ", ".join(sorted(name for name, ref in refs.items() if ref["type"] == "branch"))
        raise JobError(
            f"the table has no branch {branch}",
            code="branch-not-found",
            hint=f"its branches are {known}" if known else "nothing was written to it yet",
        )
    return int(refs[branch]["snapshot-id"])


def snapshot_of(metadata: Mapping[str, Any], text: object) -> int:
    """The snapshot with this id; raises if the table has no such snapshot."""
    known = [int(entry["snapshot-id"]) for entry in metadata.get("snapshots", ())]
    if str(text).isdigit() and int(str(text)) in known:
        return int(str(text))
    raise JobError(
        f"the table has no snapshot {text}",
        code="snapshot-not-found",
        hint="`catchment table snapshots` lists them" if known else "nothing was written to it yet",
    )


CHANGED = tuple(f"spark.merge-into.num-target-rows-{how}" for how in ("inserted", "updated", "deleted"))
"""The row counts of a merge, from Spark 4.1 on. The added rows of its snapshot include rows that were only moved."""


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
        """The writes in this snapshot with their row counts; None if the summary does not have them."""
        rows = [int(part) for part in self.summary.get(WRITE_ROWS, "").split(",") if part]
        if len(self.write_ids) == 1 and not rows:
            rows = [self.written().rows or 0]
        known = len(rows) == len(self.write_ids)
        return tuple(zip(self.write_ids, rows if known else itertools.repeat(None), strict=False))

    @property
    def inputs(self) -> Mapping[str, str]:
        """The versions of the inputs that a direct commit was computed from."""
        return dict(json.loads(self.summary.get(INPUTS, "{}")))

    def written(self) -> Written:
        """The result of the write that made this snapshot."""
        return Written(rows=self._rows(), files=self._count("added-data-files"), snapshot_id=self.id)

    def _rows(self) -> int:
        if self.summary.get(MODE) == "delete":
            # Files that keep some rows are rewritten without the deleted ones, or get delete files.
            marked = self._count("added-position-deletes") + self._count("added-equality-deletes")
            return self._count("deleted-records") - self._count("added-records") + marked
        changed = [self._count(key) for key in CHANGED if key in self.summary]
        return sum(changed) if changed else self._count("added-records")

    def _count(self, key: str) -> int:
        return int(self.summary.get(key, "0"))

    def committed(self) -> Committed:
        """The same result for the ledger."""
        done, size = self.written(), int(self.summary.get("added-files-size", "0"))
        return Committed(self.id, done.rows or 0, size, done.files or 0)


def snapshots(metadata: Mapping[str, Any]) -> list[Snapshot]:
    """All snapshots in table metadata, oldest first."""
    return [_snapshot(entry) for entry in metadata.get("snapshots", ())]


def _snapshot(entry: Mapping[str, Any]) -> Snapshot:
    committed = datetime.fromtimestamp(entry["timestamp-ms"] / 1000, tz=timezone.utc)
    return Snapshot(entry["snapshot-id"], committed.isoformat(timespec="milliseconds"), entry.get("summary", {}))
