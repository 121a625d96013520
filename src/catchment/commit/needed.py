"""What writes on their way need of their table: files that nobody refers to yet, and the history since they began."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import RowMapping, select

from catchment.commit.model import FATE_UNKNOWN, is_directory
from catchment.store.database import Database, database_time
from catchment.store.schema import writes

CLOCKS_APART_SECONDS = 60.0
"""How far the clocks of stores, engines and the metastore may differ."""


@dataclass(frozen=True)
class Needed:
    """Of one table, at one moment."""

    buffers: frozenset[str]
    """Names of directories whose files will be, or may have been, published."""
    sequence: int | None
    """Commits with a greater sequence number tell which writes are done; None where nobody asks."""
    snapshots: frozenset[int]
    """States that writes began from."""
    oldest: float
    """Seconds since 1970: since then, somebody may have written files that nobody refers to yet."""


def needed(database: Database, target: str) -> Needed:
    """What the writes of a table need that are open or sealed, or whose fate nobody knows."""
    columns = (writes.c.state, writes.c.mode, writes.c.buffer, writes.c.base_sequence, writes.c.base_snapshot)
    found = select(*columns, writes.c.opened, writes.c.error).where(writes.c.target == target)
    with database.reading() as connection:
        rows = connection.execute(found.where(writes.c.state.in_(("open", "sealed", "abandoned")))).mappings().all()
        now = connection.scalar(select(database_time())) or 0.0
    waiting = [row for row in rows if row["state"] != "abandoned"]
    # Maintenance changes no rows: if nobody hears of its end, it is simply done again.
    looking = [row for row in waiting if row["mode"] != "maintain"]
    return Needed(
        frozenset(_name(row["buffer"]) for row in rows if _has_files(row)),
        min((row["base_sequence"] for row in looking), default=None),
        frozenset(row["base_snapshot"] for row in looking if row["base_snapshot"] is not None),
        min((row["opened"] for row in waiting), default=now) - CLOCKS_APART_SECONDS,
    )


def _has_files(row: RowMapping) -> bool:
    fate_unknown = (row["error"] or {}).get("code") == FATE_UNKNOWN
    return is_directory(row["buffer"]) and (row["state"] != "abandoned" or fate_unknown)


def _name(buffer: str) -> str:
    return buffer.rpartition("/")[2]
