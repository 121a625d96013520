"""The statements of every write, built once: SQLAlchemy takes longer to build one than SQLite takes to run it."""

from __future__ import annotations

from sqlalchemy import BindParameter, and_, bindparam, delete, func, select, update

from catchment.store.database import database_time
from catchment.store.schema import done, leftovers, seals, writes

_ID: BindParameter[str] = bindparam("id")
_IDS: BindParameter[str] = bindparam("ids", expanding=True)
_TARGET: BindParameter[str] = bindparam("of_target")
WAITING = and_(writes.c.state == "sealed", writes.c.error.is_(None))
"""Sealed, and not set aside."""
_WAITING_HERE = and_(writes.c.target == _TARGET, WAITING)

FIND = select(writes).where(writes.c.write_id == _ID)
LOCK = FIND.with_for_update()
FIND_DONE = select(done).where(done.c.write_id == _ID)
KNOWN = (
    select(writes.c.write_id).where(writes.c.write_id.in_(_IDS)),
    select(done.c.write_id).where(done.c.write_id.in_(_IDS)),
)
"""Which of several writes the ledger has, in full or pruned."""

NUMBER = update(seals).where(seals.c.target == _TARGET).values(number=seals.c.number + 1).returning(seals.c.number)
SEAL = (
    update(writes)
    # The buffer's name is the fence: an abandoned attempt must not seal in place of its successor.
    .where(writes.c.write_id == _ID, writes.c.buffer == bindparam("of_buffer"), writes.c.state == "open")
    .values(
        state="sealed",
        sealed=database_time(),
        number=bindparam("its_number"),
        rows_written=bindparam("rows"),
        bytes_written=bindparam("bytes"),
        files_written=bindparam("files"),
        descriptors=bindparam("packed"),
    )
)

WAITS = select(writes.c.write_id).where(writes.c.write_id == _ID, WAITING)
COUNT_WAITING = select(func.count()).select_from(writes).where(_WAITING_HERE)
SIZES = (
    select(writes.c.number, writes.c.files_written, func.length(writes.c.descriptors))
    .where(_WAITING_HERE)
    .order_by(writes.c.number)
    .limit(bindparam("most"))
)
PENDING = select(writes).where(_WAITING_HERE, writes.c.number <= bindparam("last")).order_by(writes.c.number)

LOCK_SEALED = (
    select(writes.c.write_id, writes.c.buffer, writes.c.state, writes.c.tried)
    .where(writes.c.write_id.in_(_IDS))
    .order_by(writes.c.write_id)
    .with_for_update()
)
TRY = update(writes).where(writes.c.write_id.in_(_IDS)).values(tried=1)
COMMIT = (
    update(writes)
    # A resumed run may write this id to another table by now, which does not have it yet.
    .where(writes.c.write_id == _ID, writes.c.target == _TARGET, writes.c.state != "committed")
    .values(
        state="committed", finished=database_time(), snapshot_id=bindparam("snapshot"), descriptors=None, error=None
    )
)
KEEP_BUFFERS = delete(leftovers).where(
    leftovers.c.buffer.in_(select(writes.c.buffer).where(writes.c.write_id.in_(_IDS), writes.c.target == _TARGET))
)
