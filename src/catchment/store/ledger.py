"""The ledger: open -> sealed -> committed, or abandoned. Each step is one transaction in the metastore."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, delete, select, update

from catchment.errors import EngineLost, JobError, MetastoreUnavailable
from catchment.store import statements
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
"""The columns that an earlier attempt may have filled."""
MOST_FILES, MOST_PACKED = 20_000, 8_000_000
"""The most files, and characters of packed descriptors, to publish at once: they must fit in a gigabyte of memory."""


class WritesMoved(Exception):
    """Another consolidator has changed the writes since they were read; they must be read again."""


class Ledger:
    """The record of writes; may be used from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def metastore(self) -> str:
        """The identity of the metastore, which is the same in every copy of it and is recorded in commits."""
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
        """The writes whose ids begin with a prefix."""
        these = select(writes).where(writes.c.write_id.startswith(prefix, autoescape=True))
        with self._database.reading() as connection:
            return tuple(entry_of(row) for row in connection.execute(these.order_by(writes.c.write_id)))

    @repeatable
    def open(self, intent: Intent) -> Entry:
        """Begin a write, or begin it again after a lost attempt; one that is sealed or committed stays as it is.

        May be repeated if the answer was lost, like every step of the ledger.
        """
        with self._database.fleeting() as connection:
            if insert_missing(connection, writes, row_of(intent)):
                # Looked up after the insert: pruning moves the row of a committed write to `done` in one transaction.
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
                if known.state == "open":  # the buffer of an abandoned write is among the leftovers already
                    leave(connection, known, known.error)
                # Updated in place, not deleted and inserted: a transaction that waits for the row's lock must find it.
                again = row_of(intent) | dict.fromkeys(_OF_AN_ATTEMPT)
                connection.execute(update(writes).where(writes.c.write_id == intent.write_id).values(again))
        return Entry(intent, "open", tried=False, contents=None, snapshot_id=None, error=None)

    @repeatable
    def seal(self, intent: Intent, contents: Contents) -> None:
        """Seal a write. This is the promise: from here on it will be published, even if this engine dies."""
        with self._database.writing() as connection:
            number, this = _next_number(connection, intent.target), {"id": intent.write_id, "of_buffer": intent.buffer}
            size = {"rows": contents.rows, "bytes": contents.bytes, "files": contents.files}
            packed_files = packed(contents.descriptors)
            sealed = connection.execute(statements.SEAL, {**this, **size, "its_number": number, "packed": packed_files})
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
            rows = connection.execute(statements.PENDING, {"of_target": target, "last": last})
            return tuple(entry_of(row) for row in rows)

    @repeatable
    def sealed_ids(self, target: str) -> tuple[str, ...]:
        """The ids of a table's sealed writes in the order of their seals, including those that were set aside."""
        sealed = writes.c.target == target, writes.c.state == "sealed"
        these = select(writes.c.write_id).where(*sealed).order_by(writes.c.number)
        with self._database.reading() as connection:
            return tuple(connection.scalars(these))

    @repeatable
    def count_pending(self, target: str) -> int:
        """How many sealed writes of a table wait to be published."""
        with self._database.reading() as connection:
            return connection.scalar(statements.COUNT_WAITING, {"of_target": target}) or 0

    @repeatable
    def waits(self, write_id: str) -> bool:
        """Whether a write is sealed and waits to be published; cheaper than `find`."""
        with self._database.reading() as connection:
            return connection.scalar(statements.WAITS, {"id": write_id}) is not None

    @repeatable
    def state(self, write_id: str) -> WriteState | None:
        """The state of one write; cheaper than `find`."""
        with self._database.reading() as connection:
            return connection.scalar(select(writes.c.state).where(writes.c.write_id == write_id))

    @repeatable
    def mark_tried(self, batch: Sequence[Entry]) -> None:
        """Record that a swap is about to be sent: from here on only the table's history tells what became of it.

        Raises WritesMoved if this consolidator paused while another one worked: a write that was abandoned since may
        have lost its files, and one that was tried or committed since may be in a history that has already expired.
        """
        these = {"ids": [write.write_id for write in batch]}
        as_read = {(write.write_id, write.intent.buffer, "sealed", int(write.tried)) for write in batch}
        with self._database.writing() as connection:
            if {tuple(row) for row in connection.execute(statements.LOCK_SEALED, these)} != as_read:
                raise WritesMoved
            connection.execute(statements.TRY, these)

    @repeatable
    def mark_planned(self, write: Entry, contents: Contents) -> None:
        """Record what publishing a write of plain files will change, before the first change.

        Plain files have no history to look into: a roll-forward does exactly what is recorded here. Raises WritesMoved
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
        """Record which snapshot of a table holds each write. The table's history is the truth; this is only a copy.

        Returns the writes that the ledger does not have: the metastore was replaced by an older copy since they were
        read from it.
        """
        ids = _in_order(snapshots)
        if not ids:
            return ()
        these = [{"id": write_id, "of_target": target, "snapshot": snapshots[write_id]} for write_id in ids]
        with self._database.writing() as connection:
            connection.execute(statements.COMMIT, these)
            # One of them may have been abandoned before it was found in the history: its files must stay now.
            connection.execute(statements.KEEP_BUFFERS, {"ids": ids, "of_target": target})
            known = known_ids(connection, ids)
        return tuple(write_id for write_id in ids if write_id not in known)

    @repeatable
    def learn(self, target: str, dataset: Mapping[str, Any], published: Sequence[Published]) -> tuple[str, ...]:
        """Record as committed the writes that are in a table's history but that the ledger has lost.

        Returns their ids. Later seals get numbers after the newest of them.
        """
        with self._database.writing() as connection:
            return learn(connection, target, dataset, published)

    @repeatable
    def set_aside(self, write: Entry, error: Mapping[str, Any]) -> None:
        """Take a write that cannot be published out of the queue, and keep it; the others go on without it."""
        this = writes.c.write_id == write.write_id, writes.c.buffer == write.intent.buffer, writes.c.state == "sealed"
        with self._database.writing() as connection:
            connection.execute(update(writes).where(*this).values(error=dict(error)))

    @repeatable
    def finish(self, intent: Intent, contents: Contents, snapshot_id: int | None) -> bool:
        """Record a write that its format has committed by itself, without a seal. The format's log is the truth.

        Returns True if the ledger had lost the write: the metastore was replaced by an older copy since it began.
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
            # If the row exists, it is committed already, or the write goes to another table by now.
            lost = not known_ids(connection, [intent.write_id])
            return lost and insert_missing(connection, writes, row_of(intent) | done)

    @repeatable
    def abandon(self, write: Entry, error: Mapping[str, Any]) -> bool:
        """Abandon a write that cannot be published; its files stay until recovery removes them.

        Returns False if the write has changed since it was read: an engine that was taken for dead may have sealed it.
        """
        with self._database.writing() as connection:
            return write.state in ("open", "sealed") and abandon_in(connection, write, error)

    @repeatable
    def ownerless(self, target: str, state: Literal["open", "sealed"] = "open") -> tuple[Entry, ...]:
        """The writes of a table whose engine is lost, without those that were set aside."""
        gone = writes.c.owner.not_in(not_gone())
        lost = select(writes).where(writes.c.target == target, writes.c.state == state, gone, writes.c.error.is_(None))
        with self._database.reading() as connection:
            return tuple(entry_of(row) for row in connection.execute(lost))

    @repeatable
    def unfinished(self) -> Mapping[str, Mapping[str, Any]]:
        """The datasets that have something to recover, by target: sealed or open writes, or leftovers."""
        begun = select(writes.c.target, writes.c.dataset).where(UNFINISHED)
        with self._database.reading() as connection:
            found = connection.execute(begun.union_all(select(leftovers.c.target, leftovers.c.dataset)))
            datasets = {row.target: row.dataset for row in found}
        return dict(sorted(datasets.items()))

    @repeatable
    def in_flight(self, target: str, table_uuid: str | None = None) -> InFlight:
        """What the writes of a table need that are open, sealed or of unknown fate; with its uuid, under any name."""
        with self._database.reading() as connection:
            return in_flight(connection, target, table_uuid)

    @repeatable
    def is_used(self, target: str, table_uuid: str) -> bool:
        """Whether a table has unfinished writes, or committed ones that went to the table with this uuid."""
        with self._database.reading() as connection:
            return is_used(connection, target, table_uuid)

    @repeatable
    def leftovers(self, target: str) -> tuple[tuple[str, str], ...]:
        """(write id, directory) of the buffers of a table that will never be published."""
        left = select(leftovers.c.write_id, leftovers.c.buffer).where(leftovers.c.target == target, is_unused())
        left = left.order_by(leftovers.c.buffer)
        with self._database.reading() as connection:
            return tuple((row.write_id, row.buffer) for row in connection.execute(left))

    @repeatable
    def forget(self, buffers: Iterable[str]) -> None:
        """Remove buffers from the leftovers: recovery has nothing more to do for them."""
        removed = _in_order(buffers)
        if not removed:
            return
        gone = delete(leftovers).where(leftovers.c.buffer == bindparam("removed"))
        with self._database.writing() as connection:
            connection.execute(gone, [{"removed": buffer} for buffer in removed])


def _last_within(connection: Connection, target: str, limit: int, files: int, packed: int) -> int | None:
    """The number of the last seal that is still within the bounds; the first one always is."""
    last = None
    for row in connection.execute(statements.SIZES, {"of_target": target, "most": limit}):
        files, packed = files - row[1], packed - (row[2] or 0)
        if last is not None and min(files, packed) < 0:
            break
        last = row[0]
    return last


def _check_fate(known: Entry) -> None:
    """Raise if the write may be in the table: it is not written again until a person says that it is not there."""
    if known.state == "abandoned" and (known.error or {}).get("code") == FATE_UNKNOWN:
        error = known.error or {}
        raise JobError(str(error["message"]), code=FATE_UNKNOWN, hint=error.get("hint"))


def _another_try(connection: Connection, known: Entry) -> Entry:
    """The sealed write, put back in the queue if it was set aside."""
    if known.error is not None:
        connection.execute(update(writes).where(writes.c.write_id == known.write_id).values(error=None))
    return replace(known, error=None)


def _done_before(connection: Connection, intent: Intent) -> Entry | None:
    """The write if it was committed long ago and pruned; its new row is then removed."""
    known = find_done(connection, intent.write_id)
    if known is None or known.intent.target != intent.target:
        return None
    connection.execute(delete(writes).where(writes.c.write_id == intent.write_id))
    return known


def _is_ours(known: Entry, intent: Intent) -> bool:
    """Whether this attempt has opened the write already, and only the answer was lost."""
    return known.state == "open" and known.intent.buffer == intent.buffer


def _was_sealed(connection: Connection, intent: Intent) -> bool:
    """Whether this attempt has sealed the write already, and only the answer was lost."""
    known = find_in(connection, intent.write_id)
    return known is not None and known.intent.buffer == intent.buffer and known.state in ("sealed", "committed")


def _check_elsewhere(known: Entry, intent: Intent) -> None:
    """Raise if the write is sealed for another table: that seal must be published before the run writes elsewhere."""
    if known.state == "sealed":
        raise JobError(
            f"{known.write_id} is sealed for {known.intent.target} and not published yet, and is now to go to "
            f"{intent.target}",
            code="write-elsewhere",
            hint="publish it with `catchment recover`, then resume the run",
        )


def _locked(connection: Connection, write_id: str) -> Entry:
    row = connection.execute(statements.LOCK, {"id": write_id}).one_or_none()
    if row is None:
        raise MetastoreUnavailable(f"{write_id} was removed as old at this very moment", hint="try again")
    return entry_of(row)


def _next_number(connection: Connection, target: str) -> int:
    """The number of the next seal of a table.

    The row stays locked until the seal is committed, so the seals of a table become visible in the order of their
    numbers: a consolidator that sees one sees every seal before it. A database sequence would not guarantee that.
    """
    insert_missing(connection, seals, {"target": target, "number": 0})
    return int(connection.execute(statements.NUMBER, {"of_target": target}).scalar_one())


def _in_order(keys: Iterable[str]) -> list[str]:
    """The order in which all transactions lock several rows, so that two of them cannot deadlock."""
    return sorted(set(keys))
