"""A ledger that has lost its tail, or all of it, learns from the history of a table which writes are committed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select, update

from catchment.store.database import database_time, insert_missing
from catchment.store.schema import done, seals, writes
from catchment.store.writes import Published

AT_ONCE = 500
"""How many ids one statement asks for."""


def learn(
    connection: Connection, target: str, dataset: Mapping[str, Any], published: Sequence[Published]
) -> tuple[str, ...]:
    """Record as committed what the ledger does not have, or has as open or given up; says which.

    Sealed writes stay as they are: whoever publishes them finds them in the history.
    """
    known = known_ids(connection, [each.write_id for each in published])
    lost = [each for each in published if each.write_id not in known]
    for each in lost:
        insert_missing(connection, writes, _row(target, dataset, each))
    behind = [each for each in published if each.write_id in known and _finish(connection, each)]
    _number_on(connection, target, max((each.number for each in published), default=0))
    return tuple(each.write_id for each in (*lost, *behind))


def _finish(connection: Connection, known: Published) -> bool:
    """Record the end of a write that the ledger has as open or given up; False if it has not."""
    unaware = writes.c.write_id == known.write_id, writes.c.state.in_(("open", "abandoned"))
    ended = connection.execute(update(writes).where(*unaware).values({**_end(known), "error": None}))
    return ended.rowcount == 1


def known_ids(connection: Connection, ids: Sequence[str]) -> frozenset[str]:
    """Those of these writes that the ledger knows."""

    def found() -> Iterator[str]:
        for first in range(0, len(ids), AT_ONCE):
            these = ids[first : first + AT_ONCE]
            for table in (writes, done):
                yield from connection.scalars(select(table.c.write_id).where(table.c.write_id.in_(these)))

    return frozenset(found())


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
