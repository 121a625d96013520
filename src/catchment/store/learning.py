"""Restores committed writes from a table's history in a ledger that has lost its newest entries, or all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select, update

from catchment.store import statements
from catchment.store.database import database_time, insert_missing
from catchment.store.ledger_rows import entry_of, leave
from catchment.store.schema import seals, writes
from catchment.store.writes import Entry, Published

AT_ONCE = 500
"""The most ids in one statement."""


def learn(
    connection: Connection, target: str, dataset: Mapping[str, Any], published: Sequence[Published]
) -> tuple[str, ...]:
    """Record as committed the writes that the ledger lacks, or has as open or abandoned; returns their ids.

    Sealed writes stay as they are: their publisher finds them in the history. A write whose output has been given
    another address also stays as it is: the history of one table says nothing about writes to another.
    """
    ids = sorted(each.write_id for each in published)
    known, behind = known_ids(connection, ids), _behind(connection, target, ids)
    lost = [each for each in published if each.write_id not in known]
    found = [each for each in published if each.write_id in behind]
    for each in lost:
        insert_missing(connection, writes, _row(target, dataset, each))
    for each in found:
        _finish(connection, behind[each.write_id], each)
    _number_on(connection, target, max((each.number for each in published), default=0))
    return tuple(each.write_id for each in (*lost, *found))


def _behind(connection: Connection, target: str, ids: Sequence[str]) -> dict[str, Entry]:
    """Those of these writes to a table that the ledger has as open or abandoned; locks their rows."""
    unaware = writes.c.target == target, writes.c.state.in_(("open", "abandoned"))
    asked = select(writes).where(*unaware).order_by(writes.c.write_id).with_for_update()
    found = (connection.execute(asked.where(writes.c.write_id.in_(these))) for these in _chunks(ids))
    return {row.write_id: entry_of(row) for rows in found for row in rows}


def _finish(connection: Connection, before: Entry, known: Published) -> None:
    """Record as committed a write that the ledger had as open or abandoned."""
    this = writes.c.write_id == known.write_id
    connection.execute(update(writes).where(this).values({**_end(known), "error": None}))
    if before.state == "open":
        # The table may have these files or those of another attempt: recovery checks before it removes any.
        leave(connection, before, None)


def known_ids(connection: Connection, ids: Sequence[str]) -> frozenset[str]:
    """Those of these writes that the ledger knows."""
    found = (connection.scalars(asked, {"ids": these}) for these in _chunks(ids) for asked in statements.KNOWN)
    return frozenset(write_id for each in found for write_id in each)


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[first : first + AT_ONCE] for first in range(0, len(ids), AT_ONCE))


def _number_on(connection: Connection, target: str, newest: int) -> None:
    insert_missing(connection, seals, {"target": target, "number": 0})
    connection.execute(update(seals).where(seals.c.target == target, seals.c.number < newest).values(number=newest))


def _row(target: str, dataset: Mapping[str, Any], known: Published) -> dict[str, Any]:
    return {
        "write_id": known.write_id,
        "workflow": known.workflow,
        "target": target,
        "branch": "main",
        "mode": "append",
        "conflict": "last-wins",
        "tried": 1,
        "owner": "",
        "buffer": known.write_id,
        "buffered": True,
        "dataset": dict(dataset),
        "table_uuid": "",
        "base_schema": 0,
        "base_sequence": 0,
        "opened": database_time(),
        "inputs": {},
        **_end(known),
    }


def _end(known: Published) -> dict[str, Any]:
    return {
        "state": "committed",
        "sealed": database_time(),
        "finished": database_time(),
        "rows_written": known.rows,
        "bytes_written": 0,
        "files_written": 0,
        "snapshot_id": known.snapshot_id,
    }
