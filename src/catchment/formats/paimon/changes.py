"""Changes of a Paimon table that write no rows: tags, and rollbacks to an earlier snapshot.

A tag that exists already and a table that is rolled back already stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import JobError
from catchment.formats.model import Facts, Requester
from catchment.formats.paimon.buffered import publisher_of
from catchment.formats.paimon.snapshot_files import Snapshot
from catchment.formats.paimon.snapshots import read_back
from catchment.formats.paimon.table import Table, require_table
from catchment.plan.model import ChangePlan
from catchment.run_model import snapshot_name
from catchment.timestamps import milliseconds

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """What a change would do."""

    before: str | None
    after: str | None
    make: Callable[[], None]
    further: Facts


def change(
    spark: SparkSession, change: ChangePlan, requester: Requester, writer: Writer, listener: Listener, *, dry_run: bool
) -> Facts:
    """Make a change, or preview it."""
    if change.name == "rollback" and requester.run_id:
        # A resumed run would roll back once more, and remove what others have written since.
        raise JobError(
            "a Paimon table is rolled back by hand: the snapshots after the target are removed for good",
            code="unsupported-change",
            hint=f"use `catchment table rollback {change.dataset.address}`",
        )
    table = require_table(spark, change.dataset)
    if not dry_run:
        publisher_of(writer, change.dataset, table).consolidate(listener.warn)  # sealed writes were promised before
    progress = spark_progress(writer.session)
    with table_lease(writer.store, table.location, writer.owner, listener, progress):
        step = KINDS[change.name](require_table(spark, change.dataset), change.arguments)
        changed = step.before != step.after
        if changed and not dry_run:
            step.make()
    newest, pending = table.newest(), writer.ledger.count_pending(change.dataset.target)
    head = {"pending": pending, "snapshot_id": snapshot_name(newest.id) if newest else None}
    return {"before": step.before, "after": step.after, **head, "changed": changed, **step.further}


def _roll_back(table: Table, arguments: Arguments) -> Step:
    """Roll back for good: Paimon removes the later snapshots."""
    newest = _newest(table)
    known = read_back(table.spark, table.java, newest.id)
    target = _target(known, arguments)
    gone = [each for each in known if each.id > target.id]
    undone = [{"snapshot_id": snapshot_name(each.id), "write_ids": list(each.write_ids)} for each in gone]
    names = snapshot_name(newest.id), snapshot_name(target.id)
    return Step(*names, lambda: table.java.rollbackTo(target.id), {"undone": undone})


def _target(known: list[Snapshot], arguments: Arguments) -> Snapshot:
    """The snapshot that a rollback names, or the one that was current at its time."""
    if "timestamp" in arguments:
        try:
            moment = milliseconds(str(arguments["timestamp"]))
        except ValueError as error:
            hint = "write it as 2026-03-01T12:00:00Z; without a zone it is UTC"
            raise JobError(f"`{arguments['timestamp']}` is not a timestamp", code="bad-timestamp", hint=hint) from error
        found = next((each for each in known if each.millis <= moment), None)
    else:
        found = next((each for each in known if str(each.id) == str(arguments.get("snapshot"))), None)
    if found is None:
        asked = arguments.get("timestamp") or arguments.get("snapshot")
        raise JobError(
            f"there is no snapshot {asked}", code="snapshot-not-found", hint="`catchment table snapshots` lists them"
        )
    return found


def _create_tag(table: Table, arguments: Arguments) -> Step:
    name, newest = str(arguments["tag"]), _newest(table)
    number = int(arguments.get("snapshot") or newest.id)
    if not table.java.snapshotManager().snapshotExists(number):
        raise JobError(
            f"there is no snapshot {number}", code="snapshot-not-found", hint="`catchment table snapshots` lists them"
        )
    tags = table.tags()
    if name in tags and tags[name] != number:
        raise JobError(
            f"the table has a tag {name} already, at snapshot {tags[name]}",
            code="ref-exists",
            hint="choose another name, or delete it first",
        )
    before = snapshot_name(tags[name]) if name in tags else None
    return Step(before, snapshot_name(number), lambda: table.java.createTag(name, number), {})


def _delete_tag(table: Table, arguments: Arguments) -> Step:
    name, tags = str(arguments["tag"]), table.tags()
    if name not in tags:
        known = ", ".join(sorted(tags))
        hint = f"it has {known}" if known else "it has no tag at all"
        raise JobError(f"the table has no tag {name}", code="tag-not-found", hint=hint)
    return Step(snapshot_name(tags[name]), None, lambda: table.java.deleteTag(name), {})


def _newest(table: Table) -> Snapshot:
    newest = table.newest()
    if newest is None:
        raise JobError("the table has no snapshot", code="snapshot-not-found", hint="write to it first")
    return newest


KINDS: Mapping[str, Callable[[Table, Arguments], Step]] = {
    "rollback": _roll_back,
    "tag_create": _create_tag,
    "tag_delete": _delete_tag,
}
