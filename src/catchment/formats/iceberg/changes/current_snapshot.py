"""Changes of the current snapshot: `rollback` and `set_snapshot`. They neither add nor remove snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from catchment.errors import JobError
from catchment.formats.iceberg.changes.model import Arguments, Kind, Metadata, Staged
from catchment.formats.iceberg.snapshots import current, line, snapshot_of
from catchment.formats.stamps import WRITES
from catchment.run_model import snapshot_name
from catchment.timestamps import milliseconds


def _roll_back(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    past = line(metadata, current(metadata))
    target = _at(metadata, past, arguments["timestamp"]) if "timestamp" in arguments else None
    target = target or snapshot_of(metadata, arguments.get("snapshot"))
    if target not in past:
        raise JobError(
            f"snapshot {target} is not an ancestor of main",
            code="not-an-ancestor",
            hint="roll back to an earlier snapshot of main, or use `set-snapshot`, which accepts any snapshot",
        )
    if target != past[-1]:
        transaction.manageSnapshots().rollbackTo(target).commit()


def _set(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    target = snapshot_of(metadata, arguments["snapshot"])
    if target != current(metadata):
        transaction.manageSnapshots().setCurrentSnapshot(target).commit()


def _at(metadata: Metadata, past: list[int], text: str) -> int:
    """The snapshot of main at a moment, if the history still has it."""
    moment = _millis(text)
    times = {entry["snapshot-id"]: entry["timestamp-ms"] for entry in metadata["snapshots"]}
    found = [snapshot for snapshot in past if times[snapshot] <= moment]
    if not found:
        raise JobError(
            f"main has no snapshot as old as {text}",
            code="snapshot-not-found",
            hint="`catchment table snapshots` lists them with their times",
        )
    return found[-1]


def _millis(text: str) -> int:
    try:
        return milliseconds(text)
    except ValueError as error:
        hint = "write it as 2026-03-01T12:00:00Z; without a zone it is UTC"
        raise JobError(f"`{text}` is not a timestamp", code="bad-timestamp", hint=hint) from error


def _view(metadata: Metadata, arguments: Arguments) -> str | None:
    return snapshot_name(current(metadata))


def _undone(staged: Staged, arguments: Arguments) -> Mapping[str, Any]:
    """The commits that main loses, newest first, with the writes in each."""
    stays = set(line(staged.after, current(staged.after)))
    gone = [each for each in line(staged.before, current(staged.before))[::-1] if each not in stays]
    summaries = {entry["snapshot-id"]: entry.get("summary", {}) for entry in staged.before.get("snapshots", ())}
    writes = {each: [part for part in summaries[each].get(WRITES, "").split(",") if part] for each in gone}
    return {"undone": [{"snapshot_id": snapshot_name(each), "write_ids": writes[each]} for each in gone]}


ROLLBACK = Kind(_roll_back, _view, _undone)
SET_SNAPSHOT = Kind(_set, _view, _undone)
