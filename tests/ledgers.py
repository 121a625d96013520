"""Ledgers filled by hand, through the real `Ledger`: what engines would have left there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import delete, func, select, update

from catchment.plan.model import Dataset
from catchment.store import Lease, Store
from catchment.store.descriptors import Lines, packed
from catchment.store.schema import leases, readers, seals, states, window_runs, windows, writes
from catchment.store.writes import Base, Contents, Entry, Intent, WriteMode

TARGET = "dataos://lake:raw/t"
DATASET = Dataset(TARGET, "lake", "iceberg", namespace="raw", table="t")
ALIVE, LOST = "engine/here:1:aaaaaaaa", "engine/there:2:bbbbbbbb"
REFUSED: Mapping[str, Any] = {"code": "schema-changed", "message": "it got a required column", "hint": "mend the job"}


def intent(
    write_id: str,
    *,
    target: str = TARGET,
    owner: str = LOST,
    buffer: str = "",
    mode: WriteMode = "append",
    branch: str = "main",
    dataset: Dataset = DATASET,
    buffered: bool = True,
    place: str | None = None,
    table_uuid: str = "uuid",
) -> Intent:
    """A write as an engine opens it."""
    return Intent(
        *(write_id, "flow", target, branch, mode, "last-wins", owner),
        buffer=buffer or f"/lake/data/{write_id.replace('/', '.')}",
        base=Base(table_uuid, 0, 1, None),
        dataset=asdict(dataset),
        buffered=buffered,
        place=place,
    )


def contents(rows: int = 10) -> Contents:
    """A buffer of one file."""
    descriptor = {"spec-id": 0, "file-path": "/lake/data/f.parquet", "record-count": rows, "file-size-in-bytes": 100}
    return Contents((descriptor,), rows, 100, 1)


class Filled:
    """A ledger, and short ways to bring writes into each state."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.ledger = store.ledger

    def engine(self, owner: str = ALIVE) -> Lease:
        """An engine that is heard from."""
        return self.store.leases.acquire(owner, owner, 600.0)

    def open(self, write_id: str, **more: Any) -> Entry:
        return self.ledger.open(intent(write_id, **more))

    def seal(self, write_id: str, *, rows: int = 10, **more: Any) -> Entry:
        self.ledger.seal(self.open(write_id, **more).intent, contents(rows))
        return self.find(write_id)

    def commit(self, write_id: str, snapshot: int | None, **more: Any) -> Entry:
        self.seal(write_id, **more)
        self.ledger.mark_committed(more.get("target", TARGET), {write_id: snapshot})
        return self.find(write_id)

    def abandon(self, write_id: str, error: Mapping[str, Any] = REFUSED, **more: Any) -> Entry:
        assert self.ledger.abandon(self.seal(write_id, **more), error)
        return self.find(write_id)

    def find(self, write_id: str) -> Entry:
        found = self.ledger.find(write_id)
        assert found is not None
        return found

    def lose(self, write_id: str) -> None:
        """Let the ledger forget a write, as if the metastore had been replaced by an older copy."""
        with self.store.database.writing() as connection:
            connection.execute(delete(writes).where(writes.c.write_id == write_id))

    def states(self, *write_ids: str) -> list[str | None]:
        return [self.ledger.state(write_id) for write_id in write_ids]

    def left(self, target: str = TARGET) -> list[str]:
        return [buffer for _, buffer in self.ledger.leftovers(target)]


@contextmanager
def older_copy(database: Path) -> Iterator[None]:
    """What the metastore learns in here is lost: afterwards it is replaced by the copy that was made before."""
    with closing(sqlite3.connect(":memory:")) as copy, closing(sqlite3.connect(database)) as metastore:
        metastore.backup(copy)
        yield
        copy.backup(metastore)


def forget_tail(store: Store, target: str, write_ids: Sequence[str]) -> None:
    """The newest writes of a table, and the numbers of their seals, are lost: the metastore is an older copy now."""
    with store.database.writing() as connection:
        connection.execute(delete(writes).where(writes.c.write_id.in_(write_ids)))
        newest = select(func.max(writes.c.number)).where(writes.c.target == target).scalar_subquery()
        number = func.coalesce(newest, 0)
        connection.execute(update(seals).where(seals.c.target == target).values(number=number))


def fall_back(store: Store, job: str, newest: int) -> None:
    """A job's windows after this one are lost with their writes, and the state is back where this one left it."""
    with store.database.writing() as connection:
        later = windows.c.job == job, windows.c.number > newest
        for identity in connection.scalars(select(windows.c.identity).where(*later)).all():
            connection.execute(delete(writes).where(writes.c.write_id.startswith(f"{identity}/{job}/")))
        connection.execute(delete(windows).where(*later))
        connection.execute(delete(window_runs).where(window_runs.c.job == job, window_runs.c.number > newest))
        left = connection.scalar(select(windows.c.inputs).where(windows.c.job == job, windows.c.number == newest))
        keys = next(iter((left or {}).values()), {"after": None})["after"]
        this = states.c.job == job
        connection.execute(update(states).where(this).values({"keys": keys}) if keys else delete(states).where(this))


def spoil(filled: Filled, write_id: str) -> None:
    """Let the descriptors of a sealed write name a partition spec that the table does not have."""
    known = filled.find(write_id)
    assert known.contents
    describe(filled, write_id, packed(tuple({**each, "spec-id": 77} for each in known.contents.descriptors)))


def describe(filled: Filled, write_id: str, descriptors: str | None) -> None:
    """Change what the ledger says of the files of a sealed write."""
    with filled.store.database.writing() as connection:
        connection.execute(update(writes).where(writes.c.write_id == write_id).values(descriptors=descriptors))


def wait_for_long(filled: Filled, *write_ids: str) -> None:
    """As if these writes had been sealed long ago."""
    with filled.store.database.writing() as connection:
        connection.execute(update(writes).where(writes.c.write_id.in_(write_ids)).values(sealed=0))


def packed_lines(*lines: str) -> str:
    """Descriptors as the ledger keeps them; what is in the lines need not be JSON."""
    return packed(Lines(lines))


def forget_readers(store: Store) -> None:
    """As if a minute had passed: engines that were killed while they read do not count any more."""
    with store.database.writing() as connection:
        connection.execute(delete(readers))


def forget_engine(store: Store, owner: str) -> None:
    """An engine that was killed counts as alive until its lease ends; end it now."""
    holder = store.leases.holder(owner)
    assert holder is not None
    store.leases.release(Lease(owner, holder.owner, holder.fence))


def end_leases(store: Store, pid: int) -> None:
    """What a process that was killed or stopped has leased ends in time; end it now. Its sign of life stays."""
    with store.database.writing() as connection:
        connection.execute(
            update(leases)
            .where(leases.c.owner.contains(f":{pid}:"), leases.c.name != leases.c.owner)
            .values(owner=None, expires=0.0)
        )
