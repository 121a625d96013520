"""Writes in flight: the files and the history of a table that they still need."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, select

from catchment.store.database import database_time
from catchment.store.schema import writes
from catchment.store.writes import FATE_UNKNOWN

CLOCKS_APART_SECONDS = 60.0
"""How far the clocks of stores, engines and the metastore may differ."""


@dataclass(frozen=True)
class InFlight:
    """What the writes in flight of one table need, at one moment."""

    buffers: frozenset[str]
    """Names of directories whose files will be, or may have been, published."""
    sequence: int | None
    """Commits with a greater sequence number tell which writes are done; None where nobody asks."""
    snapshots: frozenset[int]
    """States that writes began from."""
    oldest: float
    """Seconds since 1970: since then, somebody may have written files that nobody refers to yet."""


def in_flight(connection: Connection, target: str) -> InFlight:
    """What the writes of a table need that are open or sealed, or whose fate nobody knows."""
    columns = (writes.c.state, writes.c.mode, writes.c.buffer, writes.c.buffered, writes.c.base_sequence)
    found = select(*columns, writes.c.base_snapshot, writes.c.opened, writes.c.error).where(writes.c.target == target)
    rows = connection.execute(found.where(writes.c.state.in_(("open", "sealed", "abandoned")))).mappings().all()
    now = connection.scalar(select(database_time())) or 0.0
    waiting = [row for row in rows if row["state"] != "abandoned"]
    # Maintenance changes no rows: if nobody hears of its end, it is simply done again.
    looking = [row for row in waiting if row["mode"] != "maintain"]
    return InFlight(
        frozenset(_name(row["buffer"]) for row in rows if _has_files(row)),
        min((row["base_sequence"] for row in looking), default=None),
        frozenset(row["base_snapshot"] for row in looking if row["base_snapshot"] is not None),
        min((row["opened"] for row in waiting), default=now) - CLOCKS_APART_SECONDS,
    )


def _has_files(row: RowMapping) -> bool:
    fate_unknown = (row["error"] or {}).get("code") == FATE_UNKNOWN
    return row["buffered"] and (row["state"] != "abandoned" or fate_unknown)


def _name(buffer: str) -> str:
    return buffer.rpartition("/")[2]
