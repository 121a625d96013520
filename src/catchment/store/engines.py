"""Engines: which are alive, and since when the metastore has been there for them to say so. Time is the database's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, or_, select, update

from catchment.store.database import Database, database_time, insert_missing, repeatable
from catchment.store.leases import is_held
from catchment.store.schema import UNFINISHED, engines, leases, uptime, writes

PREFIX = "engine/"
"""What the names of the leases of engines begin with."""
GAP_SECONDS = 60.0
"""If no engine was heard from for longer than this, the metastore may have been away from all of them."""
SETTLING_SECONDS = 45.0
"""How long engines have to announce themselves again after that, before a silent one counts as gone."""


@dataclass(frozen=True)
class LivingEngine:
    """An engine that is alive, as far as the metastore knows."""

    name: str
    """Where it runs: host, process and a number of its own."""
    engine: str | None
    """Its name in the project. It is None, like what follows, if the metastore was restored from an older copy."""
    spark: str | None
    master: str | None
    started: float | None
    silent: float
    """Seconds since it was last heard from."""


class Engines:
    """Those who fill buffers; each is alive until it says that it has ended, or is not heard from any more."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeatable
    def here(self, name: str, seconds: float) -> None:
        """An engine is alive, and counts as alive for `seconds` more. Nobody else wants a lease of this name.

        Where the metastore has forgotten the engine, because it was restored from an older copy, it learns of it again.
        """
        self.heard(name, seconds)

    def heard(self, name: str, seconds: float) -> None:
        """The same, once: a metastore that does not answer is not waited for."""
        with self._database.renewing() as connection:
            insert_missing(connection, leases, {"name": name, "fence": 1, "expires": 0.0, "seconds": seconds})
            renewed = {"owner": name, "expires": database_time() + seconds, "seconds": seconds}
            connection.execute(update(leases).where(leases.c.name == name).values(renewed))
            _count(connection)

    @repeatable
    def describe(self, name: str, engine: str, spark: str, master: str) -> None:
        """Say which engine of the project this is, and with which Spark."""
        facts = {"name": name, "engine": engine, "spark": spark, "master": master}
        with self._database.writing() as connection:
            insert_missing(connection, engines, {**facts, "started": database_time()})

    @repeatable
    def living(self) -> tuple[LivingEngine, ...]:
        """The engines that were heard from lately and have not ended, in the order of their names."""
        heard = leases.c.expires - leases.c.seconds
        columns = engines.c.engine, engines.c.spark, engines.c.master, engines.c.started
        found = (
            select(leases.c.name, *columns, (database_time() - heard).label("silent"))
            .select_from(leases.outerjoin(engines, engines.c.name == leases.c.name))
            .where(leases.c.name.startswith(PREFIX), is_held(leases))
            .order_by(leases.c.name)
        )
        with self._database.reading() as connection:
            return tuple(LivingEngine(**row) for row in connection.execute(found).mappings())

    def ended(self, name: str) -> None:
        """An engine has ended, and nobody has to wait until it would be missed."""
        with self._database.writing() as connection:
            connection.execute(update(leases).where(leases.c.name == name).values(owner=None, expires=0.0))

    @repeatable
    def missed(self) -> int:
        """How many engines with open writes are not heard from any more, and have not said that they have ended."""
        begun = select(writes.c.owner).where(UNFINISHED, writes.c.state == "open")
        silent = and_(leases.c.owner.is_not(None), leases.c.expires <= database_time(), leases.c.name.in_(begun))
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(leases).where(silent)) or 0

    @repeatable
    def watch(self) -> bool:
        """Stay with the metastore as an engine does; True once silent engines count as gone."""
        with self._database.writing() as connection:
            _count(connection)
            return bool(connection.scalar(select(_is_settled())))


def not_gone() -> Select[Any]:
    """The leases of engines that may be alive.

    After an outage of the metastore every lease has run out, and nobody could say that they were alive. So a lease that
    ran out counts until the metastore has been there for long enough. One that was given back does not, and neither
    does one that is no longer there: leases are removed long after they ran out.
    """
    waited_for = and_(leases.c.owner.is_not(None), ~_is_settled())
    return select(leases.c.name).where(or_(is_held(leases), waited_for))


def _is_settled() -> ColumnElement[bool]:
    settled = uptime.c.since < database_time() - SETTLING_SECONDS
    return select(uptime.c.id).where(settled, _is_unbroken()).exists()


def _is_unbroken() -> ColumnElement[bool]:
    """Whether some engine was heard from a moment ago; a clock that went back or ahead breaks it as an outage does."""
    return func.abs(database_time() - uptime.c.heard) < GAP_SECONDS


def _count(connection: Connection) -> None:
    """Remember that the metastore was there, and since when without a gap."""
    now = database_time()
    insert_missing(connection, uptime, {"id": 1, "since": now, "heard": now})
    connection.execute(update(uptime).values(since=case((_is_unbroken(), uptime.c.since), else_=now), heard=now))
