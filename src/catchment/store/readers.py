"""Who reads the lake now, and since when, by the database's clock."""

from __future__ import annotations

from sqlalchemy import delete, func, insert, select, update

from catchment.store.database import Database, database_time, repeatable
from catchment.store.schema import readers


class Readers:
    """Records who is reading; a reader counts until it reports its end or is no longer heard from."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def here(self, name: str, age: float, seconds: float) -> None:
        """Record a reader that began `age` seconds ago; it counts for `seconds` more unless it is heard from again."""
        now = database_time()
        with self._database.renewing() as connection:
            connection.execute(delete(readers).where(readers.c.name != name, readers.c.expires < now))
            known = update(readers).where(readers.c.name == name).values(expires=now + seconds)
            if not connection.execute(known).rowcount:  # new, or taken for dead while the metastore was unavailable
                connection.execute(insert(readers).values(name=name, since=now - age, expires=now + seconds))

    def end(self, name: str) -> None:
        """Record that a reader is done; if that is lost in a power cut, its record expires."""
        with self._database.fleeting() as connection:
            connection.execute(delete(readers).where(readers.c.name == name))

    @repeatable
    def oldest(self) -> float | None:
        """When the oldest current reader began, in seconds since 1970; None if there is no reader."""
        alive = select(func.min(readers.c.since)).where(readers.c.expires > database_time())
        with self._database.reading() as connection:
            since: float | None = connection.scalar(alive)
        return since
