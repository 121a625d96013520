"""Writes in flight: which files and which part of a table's history they still need."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from catchment.store.database import now
from catchment.store.engines import not_gone
from catchment.store.schema import UNFINISHED, leftovers, writes
from catchment.store.writes import FATE_UNKNOWN

CLOCKS_APART_SECONDS = 60.0
"""How far the clocks of stores, engines and the metastore may differ."""


@dataclass(frozen=True)
class InFlight:
    """What the writes in flight of one table need, at one moment."""

    buffers: frozenset[str]
    """Names of directories whose files will be, or may have been, published."""
    sequence: int | None
    """Commits with a greater sequence number tell which writes are done; None if no write needs that."""
    snapshots: frozenset[int]
    """The snapshots that writes began from."""
    oldest: float
    """Seconds since 1970: files written after this may belong to a write although nothing refers to them yet."""


def by_any_name(target: str, table_uuid: str | None) -> ColumnElement[bool]:
    """Selects the writes of a table, with its uuid also those under another name of it.

    The table may have been renamed since they began, or its depot may have another name in another project.
    """
    by_name = writes.c.target == target
    return or_(by_name, writes.c.table_uuid == table_uuid) if table_uuid else by_name


def in_flight(connection: Connection, target: str, table_uuid: str | None = None) -> InFlight:
    """What the writes of a table need that are open, sealed or of unknown fate."""
    columns = (writes.c.state, writes.c.mode, writes.c.buffer, writes.c.buffered, writes.c.base_sequence)
    found = select(*columns, writes.c.base_snapshot, writes.c.opened)
    fate_unknown = and_(writes.c.state == "abandoned", writes.c.error["code"].as_string() == FATE_UNKNOWN)
    # Of unknown fate are only files that the table has, or that a new attempt writes again: their own name is enough.
    wanted = ((UNFINISHED, by_any_name(target, table_uuid)), (fate_unknown, writes.c.target == target))
    rows = [row for which in wanted for row in connection.execute(found.where(*which)).mappings()]
    waiting = [row for row in rows if row["state"] != "abandoned"]
    # Maintenance changes no rows: if its outcome is unknown, it is simply done again.
    looking = [row for row in waiting if row["mode"] != "maintain"]
    return InFlight(
        frozenset(_name(row["buffer"]) for row in rows if row["buffered"]),
        min((row["base_sequence"] for row in looking), default=None),
        frozenset(row["base_snapshot"] for row in looking if row["base_snapshot"] is not None),
        min((row["opened"] for row in waiting), default=now(connection)) - CLOCKS_APART_SECONDS,
    )


def is_used(connection: Connection, target: str, table_uuid: str) -> bool:
    """Whether a table has open or sealed writes, or committed ones that went to this table and not a predecessor."""
    committed = and_(writes.c.state == "committed", writes.c.table_uuid == table_uuid)
    wanted = ((UNFINISHED, by_any_name(target, table_uuid)), (committed, writes.c.target == target))
    return any(connection.scalar(select(writes.c.write_id).where(*which).limit(1)) is not None for which in wanted)


def is_unused() -> ColumnElement[bool]:
    """Whether a leftover buffer will never be published: its write has another buffer by now, or has ended.

    A committed write that was never sealed here was learned from the table, which may have the files of another
    attempt. Its engine may still be filling the buffer, so the buffer counts as used until the engine is lost.
    """
    learned = and_(writes.c.state == "committed", writes.c.number.is_(None), writes.c.owner.not_in(not_gone()))
    has_ended = or_(writes.c.state == "abandoned", learned)
    same = writes.c.write_id == leftovers.c.write_id, writes.c.buffer == leftovers.c.buffer
    return ~select(writes.c.write_id).where(*same, ~has_ended).exists()


def _name(buffer: str) -> str:
    return buffer.rpartition("/")[2]
