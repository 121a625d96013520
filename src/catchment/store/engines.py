"""Which engines are alive, and since when the metastore has been available to them. Uses the database's clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, or_, select, update

from catchment.store.database import Database, database_time, insert_missing, repeatable
from catchment.store.leases import is_held
from catchment.store.schema import UNFINISHED, engines, leases, uptime, writes

PREFIX = "engine/"
"""The prefix of the names of engine leases."""
GAP_SECONDS = 60.0
"""If no engine was heard from for longer than this, the metastore may have been unavailable to all of them."""
SETTLING_SECONDS = 45.0
"""How long engines have after such a gap to report again, before a silent one counts as lost."""


@dataclass(frozen=True)
class LivingEngine:
    """An engine that is alive, as far as the metastore knows."""

    name: str
    """The name of its lease, with its host, its process id and a random suffix."""
    engine: str | None
    """Its name in the project. None, as are the next three, if the metastore was restored from an older copy."""
    spark: str | None
    master: str | None
    started: float | None
    silent: float
    """Seconds since it was last heard from."""


class Engines:
    """Records which engines are alive; each one is until it reports its end or is no longer heard from."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeatable
    def here(self, name: str, seconds: float) -> None:
        """Record that an engine counts as alive for `seconds` more. Its lease has a name that no other engine uses.

        If the metastore has forgotten the engine, because it was restored from an older copy, it is recorded again.
        """
        self.heard(name, seconds)

    def heard(self, name: str, seconds: float) -> None:
        """Do the same once, without waiting for a metastore that does not answer."""
        with self._database.renewing() as connection:
            insert_missing(connection, leases, {"name": name, "fence": 1, "expires": 0.0, "seconds": seconds})
            renewed = {"owner": name, "expires": database_time() + seconds, "seconds": seconds}
            connection.execute(update(leases).where(leases.c.name == name).values(renewed))
            _count(connection)

    @repeatable
    def describe(self, name: str, engine: str, spark: str, master: str) -> None:
        """Record which engine of the project this is, and its Spark version and master."""
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
        """Record that an engine has ended, so that others need not wait until its lease expires."""
        with self._database.writing() as connection:
            connection.execute(update(leases).where(leases.c.name == name).values(owner=None, expires=0.0))

    @repeatable
    def missed(self) -> int:
        """How many engines with open writes are no longer heard from and have not reported their end."""
        begun = select(writes.c.owner).where(UNFINISHED, writes.c.state == "open")
        silent = and_(leases.c.owner.is_not(None), leases.c.expires <= database_time(), leases.c.name.in_(begun))
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(leases).where(silent)) or 0

    @repeatable
    def watch(self) -> bool:
        """Record that the metastore is available, as an engine would; True once silent engines count as lost."""
        with self._database.writing() as connection:
            _count(connection)
            return bool(connection.scalar(select(_is_settled())))


def not_gone() -> Select[Any]:
    """The leases of engines that may be alive.

    After an outage of the metastore every lease has expired, because no engine could renew its own. So an expired lease
    still counts until the metastore has been available for long enough. A released lease does not count, and neither
    does one that is no longer stored: leases are removed only long after they expired.
    """
    waited_for = and_(leases.c.owner.is_not(None), ~_is_settled())
    return select(leases.c.name).where(or_(is_held(leases), waited_for))


def _is_settled() -> ColumnElement[bool]:
    settled = uptime.c.since < database_time() - SETTLING_SECONDS
    return select(uptime.c.id).where(settled, _is_unbroken()).exists()


def _is_unbroken() -> ColumnElement[bool]:
    """Whether an engine was heard from recently; a jump of the clock in either direction counts as an outage."""
    return func.abs(database_time() - uptime.c.heard) < GAP_SECONDS


def _count(connection: Connection) -> None:
    """Record that the metastore is available, and since when without a gap."""
    now = database_time()
    insert_missing(connection, uptime, {"id": 1, "since": now, "heard": now})
    connection.execute(update(uptime).values(since=case((_is_unbroken(), uptime.c.since), else_=now), heard=now))
