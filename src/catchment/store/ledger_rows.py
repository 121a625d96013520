"""Rows of the ledger: converts writes to rows and back, and changes single rows within a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, update

from catchment.store import statements
from catchment.store.database import database_time, insert_missing
from catchment.store.descriptors import unpacked
from catchment.store.pruning import find_done
from catchment.store.schema import leftovers, writes
from catchment.store.writes import FATE_UNKNOWN, Base, Contents, Entry, Intent


def find_in(connection: Connection, write_id: str) -> Entry | None:
    """One write, if the ledger knows it."""
    row = connection.execute(statements.FIND, {"id": write_id}).one_or_none()
    return entry_of(row) if row is not None else find_done(connection, write_id)


def abandon_in(connection: Connection, write: Entry, error: Mapping[str, Any]) -> bool:
    """Abandon a write if it has not changed since it was read, and leave its files to recovery."""
    given_up = connection.execute(
        update(writes)
        .where(writes.c.write_id == write.write_id, writes.c.buffer == write.intent.buffer)
        .where(writes.c.state == write.state, writes.c.tried == int(write.tried))
        .values(state="abandoned", finished=database_time(), error=dict(error), descriptors=None)
    )
    if given_up.rowcount:
        leave(connection, write, error)
    return given_up.rowcount == 1


def leave(connection: Connection, write: Entry, error: Mapping[str, Any] | None) -> None:
    """Record the buffer of an abandoned write, so that recovery removes its files."""
    intent = write.intent
    fate_unknown = error is not None and error.get("code") == FATE_UNKNOWN
    if intent.buffered and not fate_unknown:
        left = {"buffer": intent.buffer, "write_id": intent.write_id, "target": intent.target}
        insert_missing(connection, leftovers, left | {"dataset": dict(intent.dataset)})


def row_of(intent: Intent) -> dict[str, Any]:
    """The row of a new write."""
    return {
        "write_id": intent.write_id,
        "workflow": intent.workflow,
        "target": intent.target,
        "branch": intent.branch,
        "mode": intent.mode,
        "conflict": intent.conflict,
        "state": "open",
        "tried": 0,
        "owner": intent.owner,
        "buffer": intent.buffer,
        "buffered": intent.buffered,
        "place": intent.place,
        "dataset": dict(intent.dataset),
        "table_uuid": intent.base.table_uuid,
        "base_schema": intent.base.schema_id,
        "base_sequence": intent.base.sequence,
        "base_snapshot": intent.base.snapshot_id,
        "opened": database_time(),
        "inputs": dict(intent.inputs),
        "window_record": dict(intent.window) if intent.window else None,
    }


def entry_of(row: Row[Any]) -> Entry:
    """The write that a row stands for."""
    base = Base(row.table_uuid, row.base_schema, row.base_sequence, row.base_snapshot)
    intent = Intent(
        *(row.write_id, row.workflow, row.target, row.branch, row.mode, row.conflict, row.owner, row.buffer, base),
        dataset=row.dataset,
        inputs=row.inputs or {},
        buffered=row.buffered,
        place=row.place,
        window=row.window_record,
    )
    contents = None
    if row.sealed is not None:
        # A sealed write that has lost its descriptors must be unreadable: without files it would count as published.
        descriptors = unpacked(row.descriptors or "") if row.state == "sealed" else ()
        contents = Contents(descriptors, row.rows_written, row.bytes_written, row.files_written)
    return Entry(intent, row.state, bool(row.tried), contents, row.snapshot_id, row.error, row.number, row.sealed)
