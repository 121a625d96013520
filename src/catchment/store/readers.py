"""Readers: who reads the lake now, and since when. Time is the database's."""

from __future__ import annotations

from sqlalchemy import delete, func, insert, select, update

from catchment.store.database import Database, database_time, repeatable
from catchment.store.schema import readers


class Readers:
    """Those who read; each is counted until it says that it is done, or is not heard from any more."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def here(self, name: str, age: float, seconds: float) -> None:
        """Somebody has been reading for `age` seconds; counts for `seconds` more unless it is heard from again."""
        now = database_time()
        with self._database.renewing() as connection:
            connection.execute(delete(readers).where(readers.c.name != name, readers.c.expires < now))
            known = update(readers).where(readers.c.name == name).values(expires=now + seconds)
            if not connection.execute(known).rowcount:  # new, or taken for dead while the metastore was away
                connection.execute(insert(readers).values(name=name, since=now - age, expires=now + seconds))

    def end(self, name: str) -> None:
        """It is done."""
        with self._database.writing() as connection:
            connection.execute(delete(readers).where(readers.c.name == name))

    @repeatable
    def oldest(self) -> float | None:
        """Since when the longest of them has been reading, in seconds since 1970; None where nobody reads."""
        alive = select(func.min(readers.c.since)).where(readers.c.expires > database_time())
        with self._database.reading() as connection:
            since: float | None = connection.scalar(alive)
        return since
