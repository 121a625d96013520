"""A person's decisions about single writes: retry it, drop it, or say what became of one whose fate is unknown."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Connection, select, update

from catchment.errors import RequestError
from catchment.store.database import Database, database_time, repeatable
from catchment.store.ledger_rows import abandon_in, find_in
from catchment.store.schema import writes
from catchment.store.writes import ACCEPTED_AS_LOST, FATE_UNKNOWN, Entry

Fate = Literal["committed", "lost"]


class Decisions:
    """Applies the decisions of a person to the ledger."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeatable
    def retry(self, write_id: str) -> Entry:
        """Put a write that was set aside back into the queue of its table."""
        with self._database.writing() as connection:
            write = _require(connection, write_id)
            if write.state != "sealed" or write.error is None:
                raise _not_so(write, "was not set aside")
            connection.execute(update(writes).where(writes.c.write_id == write_id).values(error=None))
            return write

    @repeatable
    def drop(self, write_id: str) -> Entry:
        """Abandon a write that was set aside; recovery removes its files."""
        with self._database.writing() as connection:
            write = _require(connection, write_id)
            if write.state != "sealed" or write.error is None:
                raise _not_so(write, "was not set aside")
            abandon_in(connection, write, write.error)
            return write

    @repeatable
    def accept(self, write_id: str, fate: Fate) -> Entry:
        """Record what a person found who looked for the rows of a write whose fate is unknown."""
        with self._database.writing() as connection:
            write = _require(connection, write_id)
            if not _is_unknown(write):
                raise _not_so(write, "has no unknown fate")
            if fate == "committed":
                done = {"state": "committed", "finished": database_time(), "error": None}
                connection.execute(update(writes).where(writes.c.write_id == write_id).values(done))
            else:
                abandon_in(connection, write, _lost(write))
            return write


def _is_unknown(write: Entry) -> bool:
    """Whether it is unknown if the write is in the table; for an open write, its engine or the table still knows."""
    return write.state == "abandoned" and (write.error or {}).get("code") == FATE_UNKNOWN


def _lost(write: Entry) -> dict[str, str]:
    return {
        "code": ACCEPTED_AS_LOST,
        "message": f"somebody has looked for the rows of {write.write_id}, and they are not in {write.intent.target}",
        "hint": "resume its run, or run its job again",
    }


def _require(connection: Connection, write_id: str) -> Entry:
    connection.execute(select(writes.c.write_id).where(writes.c.write_id == write_id).with_for_update())
    found = find_in(connection, write_id)
    if found is None:
        raise RequestError(
            f"the metastore knows no write {write_id}",
            code="write-not-found",
            hint="write ids look like run/job/output; `catchment writers` lists those that wait",
        )
    return found


def _not_so(write: Entry, what: str) -> RequestError:
    state = "set aside" if write.state == "sealed" and write.error else write.state
    return RequestError(
        f"{write.write_id} {what}: it is {state}",
        code="write-not-so",
        hint="--retry and --drop are for writes that were set aside, --accept-as for those whose fate is unknown; "
        "`catchment recover` finds out what became of open writes whose engine is gone",
    )
