"""The ledger: open -> sealed -> committed, or abandoned. Each step is one transaction in the metastore."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, select, update

from catchment.errors import EngineLost, JobError, MetastoreUnavailable
from catchment.store.database import Database, database_time, insert_missing, repeatable
from catchment.store.descriptors import packed
from catchment.store.engines import not_gone
from catchment.store.in_flight import InFlight, in_flight, is_unused, is_used
from catchment.store.learning import known_ids, learn
from catchment.store.ledger_rows import abandon_in, entry_of, find_in, leave, row_of
from catchment.store.pruning import find_done
from catchment.store.schema import UNFINISHED, leftovers, metastore, seals, writes
from catchment.store.writes import FATE_UNKNOWN, Contents, Entry, Intent, Published, WriteState

_OF_AN_ATTEMPT = (
    *("sealed", "finished", "number", "rows_written", "bytes_written", "files_written"),
    *("descriptors", "snapshot_id", "error"),
)
"""What the attempt before left in the row."""
MOST_FILES, MOST_PACKED = 20_000, 8_000_000
"""Files, and characters of packed descriptors, that are published at once: a gigabyte of memory has to hold them."""


class WritesMoved(Exception):
    """Writes are no longer as they were read: another consolidator was at them, and they must be read again."""


class Ledger:
    """The record of writes; may be used from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def metastore(self) -> str:
        """The identity of the metastore, the same in every copy of it: commits bear it."""
        return self._database.patiently(self._read_identity)

    def _read_identity(self) -> str:
        with self._database.reading() as connection:
            return str(connection.execute(select(metastore.c.id)).scalar_one())

    @repeatable
    def find(self, write_id: str) -> Entry | None:
        """One write, if the ledger knows it."""
        with self._database.reading() as connection:
            return find_in(connection, write_id)

    @repeatable
    def beginning_with(self, prefix: str) -> tuple[Entry, ...]:
        """The writes whose ids begin so."""
        these = select(writes).where(writes.c.write_id.startswith(prefix, autoescape=True))
        with self._database.reading() as connection:
            return tuple(entry_of(row) for row in connection.execute(these.order_by(writes.c.write_id)))

    @repeatable
    def open(self, intent: Intent) -> Entry:
        """Begin a write, or begin it again after a lost attempt; one that is sealed or committed stays as it is.

        May be repeated where the answer was lost, as may every step of the ledger.
        """
        with self._database.fleeting() as connection:
            if insert_missing(connection, writes, row_of(intent)):
                # Looked up after the insert: whoever removes the old row of a committed write does both at once.
                if (known_done := _done_before(connection, intent)) is not None:
                    return known_done
            else:
                known = _locked(connection, intent.write_id)
                _check_fate(known)
                if known.intent.target != intent.target:
                    _check_elsewhere(known, intent)
                elif known.state == "sealed":
                    return _another_try(connection, known)
                elif known.state == "committed" or _is_ours(known, intent):
                    return known
                if known.state == "open":  # of one that was given up, the buffer was left before
                    leave(connection, known, known.error)
                # Changed in place, not deleted and made anew: whoever waits for the row's lock must find it.
                again = row_of(intent) | dict.fromkeys(_OF_AN_ATTEMPT)
                connection.execute(update(writes).where(writes.c.write_id == intent.write_id).values(again))
        return Entry(intent, "open", tried=False, contents=None, snapshot_id=None, error=None)

    @repeatable
    def seal(self, intent: Intent, contents: Contents) -> None:
        """The promise: from here on the write will be published, even if this engine dies."""
        with self._database.writing() as connection:
            number = _next_number(connection, intent.target)
            sealed = connection.execute(
                update(writes)
                # The buffer's name is the fence: an attempt that was given up must not seal over its successor.
                .where(writes.c.write_id == intent.write_id, writes.c.buffer == intent.buffer, writes.c.state == "open")
                .values(
                    state="sealed",
                    sealed=database_time(),
                    number=number,
                    rows_written=contents.rows,
                    bytes_written=contents.bytes,
                    files_written=contents.files,
                    descriptors=packed(contents.descriptors),
                )
            )
            if sealed.rowcount != 1 and not _was_sealed(connection, intent):
                raise EngineLost(
                    f"the write {intent.write_id} was given to another attempt while this one was writing",
                    code="write-superseded",
                    hint="nothing was published by this attempt; look at what the other one did",
                )

    @repeatable
    def pending(
        self, target: str, *, limit: int, files: int = MOST_FILES, packed: int = MOST_PACKED
    ) -> tuple[Entry, ...]:
        """The sealed writes of a table in the order of their seals, as many as may be published at once."""
        with self._database.reading() as connection:
            last = _last_within(connection, target, limit, files, packed)
            if last is None:
                return ()
            these = select(writes).where(*_waiting(target), writes.c.number <= last).order_by(writes.c.number)
            return tuple(entry_of(row) for row in connection.execute(these))

    @repeatable
    def sealed_ids(self, target: str) -> tuple[str, ...]:
        """The ids of the sealed writes of a table in the order of their seals, with those that were set aside."""
        sealed = writes.c.target == target, writes.c.state == "sealed"
        these = select(writes.c.write_id).where(*sealed).order_by(writes.c.number)
        with self._database.reading() as connection:
            return tuple(connection.scalars(these))

    @repeatable
    def count_pending(self, target: str) -> int:
        """How many sealed writes of a table wait to be published."""
        sealed = select(func.count()).where(*_waiting(target))
        with self._database.reading() as connection:
            return connection.scalar(sealed.select_from(writes)) or 0

    @repeatable
    def waits(self, write_id: str) -> bool:
        """Whether a write is sealed and waits to be published, cheaply."""
        waiting = select(writes.c.write_id).where(writes.c.write_id == write_id, *_WAITING)
        with self._database.reading() as connection:
            return connection.scalar(waiting) is not None

    @repeatable
    def state(self, write_id: str) -> WriteState | None:
        """The state of one write, cheaply."""
        with self._database.reading() as connection:
            return connection.scalar(select(writes.c.state).where(writes.c.write_id == write_id))

    @repeatable
    def mark_tried(self, batch: Sequence[Entry]) -> None:
        """Remember that a swap is about to be sent: from here on only the table's history tells what became of it.

        Raises WritesMoved for a consolidator that slept while another one worked: a write that was abandoned since may
        have lost its files, and one that was tried or committed since may be in a history that is already expired.
        """
        these = writes.c.write_id.in_([write.write_id for write in batch])
        read = select(writes.c.write_id, writes.c.buffer, writes.c.state, writes.c.tried).where(these)
        as_read = {(write.write_id, write.intent.buffer, "sealed", int(write.tried)) for write in batch}
        with self._database.writing() as connection:
            rows = connection.execute(read.order_by(writes.c.write_id).with_for_update())
            if {tuple(row) for row in rows} != as_read:
                raise WritesMoved
            connection.execute(update(writes).where(these).values(tried=1))

    @repeatable
    def mark_planned(self, write: Entry, contents: Contents) -> None:
        """Remember what publishing a write of files will change, before its first change.

        Files have no history to look into: what the ledger says here is what a roll-forward does. Raises WritesMoved
        as `mark_tried` does.
        """
        this = (writes.c.write_id == write.write_id, writes.c.buffer == write.intent.buffer)
        as_read = (writes.c.state == "sealed", writes.c.tried == int(write.tried))
        with self._database.writing() as connection:
            plan = update(writes).where(*this, *as_read).values(tried=1, descriptors=packed(contents.descriptors))
            if connection.execute(plan).rowcount != 1:
                raise WritesMoved

    @repeatable
    def mark_committed(self, target: str, snapshots: Mapping[str, int | None]) -> tuple[str, ...]:
        """Record which snapshot of a table holds each write. Its history is the truth; this only remembers it.

        Says which writes the ledger does not have: somebody has replaced the metastore by an older copy since they were
        read from it.
        """
        ids = _in_order(snapshots)
        if not ids:
            return ()
        statement = (
            update(writes)
            # A resumed run may write this id to another table by now; that one has not got it yet.
            .where(writes.c.write_id == bindparam("id"), writes.c.target == target, writes.c.state != "committed")
            .values(
                state="committed",
                finished=database_time(),
                snapshot_id=bindparam("snapshot"),
                descriptors=None,
                error=None,
            )
        )
        live = select(writes.c.buffer).where(writes.c.write_id.in_(ids), writes.c.target == target)
        with self._database.writing() as connection:
            connection.execute(statement, [{"id": write_id, "snapshot": snapshots[write_id]} for write_id in ids])
            # Somebody may have given one of them up before it was found in the history: its files stay now.
            connection.execute(delete(leftovers).where(leftovers.c.buffer.in_(live)))
            known = known_ids(connection, ids)
        return tuple(write_id for write_id in ids if write_id not in known)

    @repeatable
    def learn(self, target: str, dataset: Mapping[str, Any], published: Sequence[Published]) -> tuple[str, ...]:
        """Catch up with the history of a table: writes that it has, and that the ledger has lost, are committed.

        Says which. Seals are numbered on from the newest of them.
        """
        with self._database.writing() as connection:
            return learn(connection, target, dataset, published)

    @repeatable
    def set_aside(self, write: Entry, error: Mapping[str, Any]) -> None:
        """Take a write out of the queue that cannot be published, and keep it: the others go on without it."""
        this = writes.c.write_id == write.write_id, writes.c.buffer == write.intent.buffer, writes.c.state == "sealed"
        with self._database.writing() as connection:
            connection.execute(update(writes).where(*this).values(error=dict(error)))

    @repeatable
    def finish(self, intent: Intent, contents: Contents, snapshot_id: int | None) -> bool:
        """Record a write that its format has committed by itself, without a seal. The format's log is the truth.

        True where the ledger had lost the write: an older copy of the metastore has taken its place since it began.
        """
        done = {
            "state": "committed",
            "sealed": database_time(),
            "finished": database_time(),
            "rows_written": contents.rows,
            "bytes_written": contents.bytes,
            "files_written": contents.files,
            "snapshot_id": snapshot_id,
            "error": None,
        }
        ours = writes.c.write_id == intent.write_id, writes.c.target == intent.target, writes.c.state != "committed"
        with self._database.writing() as connection:
            if connection.execute(update(writes).where(*ours).values(done)).rowcount:
                return False
            # A row that is there is committed already, or its write goes to another table by now.
            lost = not known_ids(connection, [intent.write_id])
            return lost and insert_missing(connection, writes, row_of(intent) | done)

    @repeatable
    def abandon(self, write: Entry, error: Mapping[str, Any]) -> bool:
        """Give up a write that cannot be published; its files stay until recovery removes them.

        False where the write has moved on since it was read: an engine that was taken for dead may have sealed it.
        """
        with self._database.writing() as connection:
            return write.state in ("open", "sealed") and abandon_in(connection, write, error)

    @repeatable
    def ownerless(self, target: str, state: Literal["open", "sealed"] = "open") -> tuple[Entry, ...]:
        """The writes of a table whose engine is no longer heard from."""
        gone = writes.c.owner.not_in(not_gone())
        lost = select(writes).where(writes.c.target == target, writes.c.state == state, gone, writes.c.error.is_(None))
        with self._database.reading() as connection:
            return tuple(entry_of(row) for row in connection.execute(lost))

    @repeatable
    def unfinished(self) -> Mapping[str, Mapping[str, Any]]:
        """The datasets that have something to recover, by their targets: sealed or open writes, or leftovers."""
        begun = select(writes.c.target, writes.c.dataset).where(UNFINISHED)
        with self._database.reading() as connection:
            found = connection.execute(begun.union_all(select(leftovers.c.target, leftovers.c.dataset)))
            datasets = {row.target: row.dataset for row in found}
        return dict(sorted(datasets.items()))

    @repeatable
    def in_flight(self, target: str) -> InFlight:
        """What the writes of a table need that are open or sealed, or whose fate nobody knows."""
        with self._database.reading() as connection:
            return in_flight(connection, target)

    @repeatable
    def is_used(self, target: str, table_uuid: str) -> bool:
        """Whether anybody writes a table, or has committed to this one of its name."""
        with self._database.reading() as connection:
            return is_used(connection, target, table_uuid)

    @repeatable
    def leftovers(self, target: str) -> tuple[tuple[str, str], ...]:
        """(write id, directory) of the buffers of a table that nobody will publish."""
        left = select(leftovers.c.write_id, leftovers.c.buffer).where(leftovers.c.target == target, is_unused())
        left = left.order_by(leftovers.c.buffer)
        with self._database.reading() as connection:
            return tuple((row.write_id, row.buffer) for row in connection.execute(left))

    @repeatable
    def forget(self, buffers: Iterable[str]) -> None:
        """The directories are removed."""
        removed = _in_order(buffers)
        if not removed:
            return
        gone = delete(leftovers).where(leftovers.c.buffer == bindparam("removed"))
        with self._database.writing() as connection:
            connection.execute(gone, [{"removed": buffer} for buffer in removed])


_WAITING = writes.c.state == "sealed", writes.c.error.is_(None)
"""Sealed, and not set aside."""


def _waiting(target: str) -> tuple[ColumnElement[bool], ...]:
    return writes.c.target == target, *_WAITING


def _last_within(connection: Connection, target: str, limit: int, files: int, packed: int) -> int | None:
    """The number of the last seal that is still within the bounds; the first one always is."""
    sizes = select(writes.c.number, writes.c.files_written, func.length(writes.c.descriptors)).where(*_waiting(target))
    last = None
    for row in connection.execute(sizes.order_by(writes.c.number).limit(limit)):
        files, packed = files - row[1], packed - (row[2] or 0)
        if last is not None and min(files, packed) < 0:
            break
        last = row[0]
    return last


def _check_fate(known: Entry) -> None:
    """Nobody writes again what may be in the table, until a person says that it is not."""
    if known.state == "abandoned" and (known.error or {}).get("code") == FATE_UNKNOWN:
        error = known.error or {}
        raise JobError(str(error["message"]), code=FATE_UNKNOWN, hint=error.get("hint"))


def _another_try(connection: Connection, known: Entry) -> Entry:
    """A sealed write; if it was set aside, it is back in the queue."""
    if known.error is not None:
        connection.execute(update(writes).where(writes.c.write_id == known.write_id).values(error=None))
    return replace(known, error=None)


def _done_before(connection: Connection, intent: Intent) -> Entry | None:
    """The write as it was committed long ago; its new row goes again."""
    known = find_done(connection, intent.write_id)
    if known is None or known.intent.target != intent.target:
        return None
    connection.execute(delete(writes).where(writes.c.write_id == intent.write_id))
    return known


def _is_ours(known: Entry, intent: Intent) -> bool:
    """Whether this very attempt has opened the write already, and only the answer was lost."""
    return known.state == "open" and known.intent.buffer == intent.buffer


def _was_sealed(connection: Connection, intent: Intent) -> bool:
    """Whether this very attempt has sealed the write already, and only the answer was lost."""
    known = find_in(connection, intent.write_id)
    return known is not None and known.intent.buffer == intent.buffer and known.state in ("sealed", "committed")


def _check_elsewhere(known: Entry, intent: Intent) -> None:
    """A run that is resumed after its output was given another address writes there; what it promised comes first."""
    if known.state == "sealed":
        raise JobError(
            f"{known.write_id} is sealed for {known.intent.target} and not published yet, and is now to go to "
            f"{intent.target}",
            code="write-elsewhere",
            hint="publish it with `catchment recover`, then resume the run",
        )


def _locked(connection: Connection, write_id: str) -> Entry:
    row = connection.execute(select(writes).where(writes.c.write_id == write_id).with_for_update()).one_or_none()
    if row is None:
        raise MetastoreUnavailable(f"{write_id} was removed as old at this very moment", hint="try again")
    return entry_of(row)


def _next_number(connection: Connection, target: str) -> int:
    """The number of the next seal of a table.

    The row stays locked until the seal is committed, so the order of the numbers is the order in which the seals of a
    table can be seen: a consolidator that sees one has seen every seal before it. A sequence would not promise that.
    """
    insert_missing(connection, seals, {"target": target, "number": 0})
    count = update(seals).where(seals.c.target == target).values(number=seals.c.number + 1)
    return int(connection.execute(count.returning(seals.c.number)).scalar_one())


def _in_order(keys: Iterable[str]) -> list[str]:
    """The order in which everybody locks several rows: two who want the same ones never wait for each other."""
    return sorted(set(keys))
