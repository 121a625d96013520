"""Shows who is writing which table now, from the metastore. Nothing here needs Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, case, func, select

from catchment.store.database import Database, database_time, now, repeatable
from catchment.store.engines import not_gone
from catchment.store.in_flight import by_any_name, is_unused
from catchment.store.leases import Holder, is_held
from catchment.store.schema import UNFINISHED, leases, leftovers, writes
from catchment.store.writes import NO_BRANCH

RECENT_SECONDS = 300.0
"""How far back commits are counted."""
_TABLE = "table/"
"""The prefix of the names of table leases."""


@dataclass(frozen=True)
class ActiveWrite:
    """A write that is under way, or that is sealed and waits to be published."""

    write_id: str
    workflow: str
    target: str
    branch: str
    mode: str
    state: Literal["open", "sealed"]
    engine: str
    buffer: str
    buffered: bool
    """Whether the buffer is a directory of files. Otherwise it is only the name of the attempt."""
    alive: bool
    """Whether the engine of the write is alive, or may be alive although it was not heard from."""
    rows: int | None
    """Known from the seal on, as are bytes and files."""
    bytes: int | None
    files: int | None
    seconds: float
    """Since it was opened or sealed."""
    error: Mapping[str, Any] | None
    """Why a sealed write was set aside."""


@dataclass(frozen=True)
class TableActivity:
    """The current activity on one table."""

    target: str
    writes: tuple[ActiveWrite, ...]
    lease: Holder | None
    """Who consolidates right now."""
    commits_per_minute: float
    writes_per_minute: float
    """Over the last minutes; many writes share one commit."""
    leftovers: int
    """Buffers of abandoned writes whose files are still there."""


class Activity:
    """Reads the current activity on the tables of the lake."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeatable
    def writes(self) -> tuple[ActiveWrite, ...]:
        """The open and sealed writes of every table, in the order in which they were opened."""
        with self._database.reading() as connection:
            return _active_writes(connection)

    @repeatable
    def of_table(self, target: str, table_uuid: str) -> tuple[ActiveWrite, ...]:
        """The open and sealed writes of one table, also those under another name of it."""
        with self._database.reading() as connection:
            return _active_writes(connection, by_any_name(target, table_uuid))

    @repeatable
    def tables(self) -> tuple[TableActivity, ...]:
        """Every table with an active write, a held lease, leftovers or a commit in the last minutes."""
        with self._database.reading() as connection:
            return _tables(connection)

    @repeatable
    def last_compaction(self, target: str) -> float | None:
        """When the last compaction of a table finished, in seconds since 1970; None if the ledger has none."""
        done = writes.c.target == target, writes.c.mode == "maintain", writes.c.state == "committed"
        found = select(func.max(writes.c.finished)).where(*done, writes.c.write_id.contains("/rewrite_dataset"))
        with self._database.reading() as connection:
            finished: float | None = connection.scalar(found)
            return finished


def _tables(connection: Connection) -> tuple[TableActivity, ...]:
    active = defaultdict[str, list[ActiveWrite]](list)
    for write in _active_writes(connection):
        active[write.target].append(write)
    places = {row.place: row.target for row in connection.execute(_places())}
    holders = {places.get(name, name): holder for name, holder in _holders(connection).items()}
    recent = {row.target: row for row in connection.execute(_recent(now(connection) - RECENT_SECONDS))}
    left = {row.target: row.buffers for row in connection.execute(_leftovers())}
    targets = sorted({*active, *holders, *recent, *left})
    return tuple(
        TableActivity(
            target,
            tuple(active.get(target, ())),
            holders.get(target),
            _per_minute(recent[target].commits if target in recent else 0),
            _per_minute(recent[target].committed if target in recent else 0),
            left.get(target, 0),
        )
        for target in targets
    )


def _active_writes(connection: Connection, *which: ColumnElement[bool]) -> tuple[ActiveWrite, ...]:
    since = case((writes.c.state == "sealed", writes.c.sealed), else_=writes.c.opened)
    # Not the whole row: only publishers need the descriptors.
    found = (
        select(
            *(writes.c.write_id, writes.c.workflow, writes.c.target, writes.c.branch, writes.c.mode, writes.c.state),
            writes.c.owner.label("engine"),
            *(writes.c.buffer, writes.c.buffered),
            case((writes.c.owner.in_(not_gone()), 1), else_=0).label("alive"),
            writes.c.rows_written.label("rows"),
            writes.c.bytes_written.label("bytes"),
            writes.c.files_written.label("files"),
            (database_time() - since).label("seconds"),
            writes.c.error,
        )
        .where(UNFINISHED, *which)
        .order_by(writes.c.opened, writes.c.write_id)
    )
    return tuple(_active(row) for row in connection.execute(found).mappings())


def _active(row: RowMapping) -> ActiveWrite:
    return ActiveWrite(**{**row, "alive": bool(row["alive"]), "seconds": max(row["seconds"], 0.0)})


def _holders(connection: Connection) -> dict[str, Holder]:
    left = (leases.c.expires - database_time()).label("left")
    held = select(leases.c.name, leases.c.owner, leases.c.fence, left)
    held = held.where(leases.c.name.startswith(_TABLE), leases.c.expires > now(connection), is_held(leases))
    return {row.name.removeprefix(_TABLE): Holder(row.owner, row.fence, row.left) for row in connection.execute(held)}


def _places() -> Select[Any]:
    """The tables whose leases are named after their locations."""
    return select(writes.c.place, writes.c.target).where(UNFINISHED, writes.c.place.is_not(None))


def _recent(since: float) -> Select[Any]:
    committed = select(writes.c.target, writes.c.snapshot_id, writes.c.branch)
    committed = committed.where(writes.c.state == "committed", writes.c.finished > since)
    # Materialized before counting: otherwise SQLite scans the whole ledger in the order of its targets.
    found = committed.cte("recent").prefix_with("MATERIALIZED")
    # Many writes of a table share one commit; plain files are published one write after the other.
    shared, single = func.count(found.c.snapshot_id.distinct()), func.count(case((found.c.branch == NO_BRANCH, 1)))
    counts = func.count().label("committed"), (shared + single).label("commits")
    return select(found.c.target, *counts).group_by(found.c.target)


def _leftovers() -> Select[Any]:
    left = select(leftovers.c.target, func.count().label("buffers")).where(is_unused())
    return left.group_by(leftovers.c.target)


def _per_minute(count: int) -> float:
    return round(count * 60 / RECENT_SECONDS, 1)
