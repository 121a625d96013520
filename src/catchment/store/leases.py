"""Leases: a time-limited right with a fencing number that only grows. Time is the database's, never a machine's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, and_, select, update

from catchment.errors import LeaseHeld, LeaseLost
from catchment.store.database import Database, database_time, insert_missing, repeatable
from catchment.store.schema import leases

CLOCK_SECONDS = 1.0
"""How far the database's clock may go back without anybody minding."""


@dataclass(frozen=True)
class Lease:
    """A right that was given; whoever acts on it shows its fence."""

    name: str
    owner: str
    fence: int


@dataclass(frozen=True)
class Holder:
    """Who holds a lease, and for how many seconds more."""

    owner: str
    fence: int
    seconds_left: float


class Leases:
    """Acquire, renew, release and guard leases."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeatable
    def acquire(self, name: str, owner: str, seconds: float) -> Lease:
        """Take a lease that nobody holds; raises LeaseHeld where somebody does."""
        with self._database.fleeting() as connection:
            insert_missing(connection, leases, {"name": name, "fence": 0, "expires": 0.0, "seconds": seconds})
            fence = connection.scalar(
                update(leases)
                .where(leases.c.name == name, leases.c.expires <= database_time())
                .values(owner=owner, fence=leases.c.fence + 1, **_from_now(seconds))
                .returning(leases.c.fence)
            )
            if fence is None:
                _limit(connection, name)
            holder = _holder(connection, name)
        if fence is None:
            raise _held(name, holder)
        return Lease(name, owner, fence)

    def take(self, name: str, owner: str, seconds: float) -> Lease | None:
        """Take a lease that nobody holds; None if somebody does."""
        if self._is_held(name):
            return None  # asking costs nothing; trying to take it would queue up with every writer of the metastore
        try:
            return self.acquire(name, owner, seconds)
        except LeaseHeld:
            return None

    def renew(self, lease: Lease, seconds: float) -> None:
        """Hold a lease for longer; raises LeaseLost where somebody else took it. Never waits for a lost connection.

        A lease that ran out but was taken by nobody is still ours: its fence proves that nobody acted in between.
        """
        with self._database.renewing() as connection:
            _lock(connection, lease)
            connection.execute(update(leases).where(leases.c.name == lease.name).values(_from_now(seconds)))

    @repeatable
    def confirm(self, lease: Lease, seconds: float) -> None:
        """Renew a lease for somebody who cannot go on without an answer."""
        self.renew(lease, seconds)

    def release(self, lease: Lease) -> None:
        """Give a lease back; does nothing where it is no longer ours. The fence stays, so that it can only grow."""
        with self._database.fleeting() as connection:
            give_back(connection, lease)

    @repeatable
    def holder(self, name: str) -> Holder | None:
        """Who holds the lease now; None where nobody does."""
        with self._database.reading() as connection:
            return _holder(connection, name)

    @contextmanager
    def holding(self, lease: Lease) -> Iterator[Connection]:
        """A writing transaction that happens only while the lease is ours; raises LeaseLost otherwise."""
        with self._database.writing() as connection:
            _lock(connection, lease)
            yield connection

    @repeatable
    def _is_held(self, name: str) -> bool:
        with self._database.reading() as connection:
            return bool(connection.scalar(select(leases.c.name).where(leases.c.name == name, is_held(leases))))


def is_held(given: FromClause) -> ColumnElement[bool]:
    """Whether a lease has time left; not if that is more than it was ever given, because the clock went back."""
    now = database_time()
    return and_(given.c.expires > now, given.c.expires <= now + given.c.seconds + CLOCK_SECONDS)


def give_back(connection: Connection, lease: Lease) -> None:
    """Give a lease back together with something else; does nothing where it is no longer ours."""
    # By owner too: when a lease is removed as old, its fences begin anew.
    ours = leases.c.name == lease.name, leases.c.fence == lease.fence, leases.c.owner == lease.owner
    connection.execute(update(leases).where(*ours).values(owner=None, expires=0.0))


def _from_now(seconds: float) -> dict[str, Any]:
    return {"expires": database_time() + seconds, "seconds": seconds}


def _limit(connection: Connection, name: str) -> None:
    """After the clock went back, let a lease last for its own length from now: its holder has time to renew it."""
    limit = database_time() + leases.c.seconds
    connection.execute(update(leases).where(leases.c.name == name, leases.c.expires > limit).values(expires=limit))


def _lock(connection: Connection, lease: Lease) -> None:
    """Make sure that the lease is ours, and that nobody can take it until the transaction ends."""
    this = select(leases.c.owner, leases.c.fence).where(leases.c.name == lease.name)
    row = connection.execute(this.with_for_update()).one_or_none()
    if row is None or (row.owner, row.fence) != (lease.owner, lease.fence):
        raise LeaseLost(
            f"the lease {lease.name} was taken over while this process was not heard from",
            hint="nothing more was written by this process; look at what the other one did",
        )


def _holder(connection: Connection, name: str) -> Holder | None:
    left = (leases.c.expires - database_time()).label("left")
    row = connection.execute(
        select(leases.c.owner, leases.c.fence, left).where(leases.c.name == name, leases.c.expires > database_time())
    ).one_or_none()
    return Holder(row.owner, row.fence, row.left) if row else None


def _held(name: str, holder: Holder | None) -> LeaseHeld:
    owner, seconds = (holder.owner, holder.seconds_left) if holder else ("somebody else", 0.0)
    return LeaseHeld(
        f"the lease {name} is held by {owner}",
        hint=f"wait until it is done; if it was killed, the lease ends in {max(seconds, 1):.0f} s",
    )
