"""Leases: time-limited rights with a fencing number that only grows. They expire by the database's clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Double, FromClause, Row, and_, bindparam, select, update

from catchment.errors import LeaseHeld, LeaseLost
from catchment.process_identity import ProcessIdentity
from catchment.store.database import Database, database_time, insert_missing, repeatable
from catchment.store.schema import leases

CLOCK_SECONDS = 1.0
"""How far the database's clock may go back without affecting leases."""


@dataclass(frozen=True)
class Lease:
    """An acquired lease. Its fence proves to the metastore that it is still held."""

    name: str
    owner: str
    fence: int


@dataclass(frozen=True)
class Holder:
    """Who holds a lease, and for how many seconds more."""

    owner: str
    fence: int
    seconds_left: float
    process: ProcessIdentity | None = None
    """The process that holds it, if it was recorded."""


class Leases:
    """Acquire, renew, release and guard leases."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeatable
    def acquire(self, name: str, owner: str, seconds: float, process: ProcessIdentity | None = None) -> Lease:
        """Acquire a free lease; raises LeaseHeld if another process holds it.

        If the holder's process is given, others on its machine need not wait for the lease to expire when it has died.
        """
        with self._database.fleeting() as connection:
            insert_missing(connection, leases, {"name": name, "fence": 0, "expires": 0.0, "seconds": seconds})
            taken = {"of_lease": name, "new_owner": owner, "given": seconds, **_parameters(process)}
            if (fence := connection.scalar(_TAKE, taken)) is not None:
                return Lease(name, owner, fence)
            _limit(connection, name)
            holder = _holder(connection, name)
        raise _held(name, holder)

    def take(self, name: str, owner: str, seconds: float) -> Lease | None:
        """Acquire a free lease; None if another process holds it."""
        if self._is_held(name):
            return None  # a read is cheap; an attempt to acquire would queue behind every writer of the metastore
        try:
            return self.acquire(name, owner, seconds)
        except LeaseHeld:
            return None

    def renew(self, lease: Lease, seconds: float) -> None:
        """Extend a lease; raises LeaseLost if another process took it over. Never waits for a lost connection.

        A lease that expired but was not taken over is still ours: its fence proves that nobody acted in between.
        """
        with self._database.renewing() as connection:
            _lock(connection, lease)
            connection.execute(_RENEW, {"of_lease": lease.name, "given": seconds})

    @repeatable
    def confirm(self, lease: Lease, seconds: float) -> None:
        """Renew a lease for a caller that cannot go on without an answer."""
        self.renew(lease, seconds)

    def release(self, lease: Lease) -> None:
        """Release a lease; does nothing if it is no longer ours. The fence stays, so that it only ever grows."""
        with self._database.fleeting() as connection:
            give_back(connection, lease)

    @repeatable
    def end(self, name: str, holder: Holder) -> None:
        """End the lease of a holder that is known to be dead; does nothing if it is no longer the holder."""
        with self._database.fleeting() as connection:
            give_back(connection, Lease(name, holder.owner, holder.fence))

    @repeatable
    def holder(self, name: str) -> Holder | None:
        """Who holds the lease now; None if nobody does."""
        with self._database.reading() as connection:
            return _holder(connection, name)

    @contextmanager
    def holding(self, lease: Lease) -> Iterator[Connection]:
        """A writing transaction that runs only while the lease is ours; raises LeaseLost otherwise."""
        with self._database.writing() as connection:
            _lock(connection, lease)
            yield connection

    @repeatable
    def _is_held(self, name: str) -> bool:
        with self._database.reading() as connection:
            return connection.scalar(_HELD, {"of_lease": name}) is not None


def is_held(given: FromClause) -> ColumnElement[bool]:
    """Whether a lease has time left; False if it has more than it was given, because the clock went back."""
    now = database_time()
    return and_(given.c.expires > now, given.c.expires <= now + given.c.seconds + CLOCK_SECONDS)


def give_back(connection: Connection, lease: Lease) -> None:
    """Release a lease within a transaction; does nothing if it is no longer ours."""
    ours = {"of_lease": lease.name, "its_fence": lease.fence, "its_owner": lease.owner}
    connection.execute(_GIVE_BACK, ours)


# Built once, because every write takes and releases a lease.
_THIS = leases.c.name == bindparam("of_lease")
_FROM_NOW = {"expires": database_time() + bindparam("given", type_=Double()), "seconds": bindparam("given")}
_HELD = select(leases.c.name).where(_THIS, is_held(leases))
_PROCESS = ("machine", "pid", "born")
_NEW_HOLDER: dict[str, Any] = {column: bindparam(f"new_{column}") for column in ("owner", *_PROCESS)}
_TAKE = (
    update(leases)
    .where(_THIS, leases.c.expires <= database_time())
    .values(fence=leases.c.fence + 1, **_NEW_HOLDER, **_FROM_NOW)
    .returning(leases.c.fence)
)
_RENEW = update(leases).where(_THIS).values(_FROM_NOW)
_GIVE_BACK = (
    update(leases)
    # The owner is compared, too: after an old lease was removed, its fence starts again.
    .where(_THIS, leases.c.fence == bindparam("its_fence"), leases.c.owner == bindparam("its_owner"))
    .values(owner=None, expires=0.0)
)


def _limit(connection: Connection, name: str) -> None:
    """After the clock went back, let a lease last for its full duration from now: its holder has time to renew it."""
    limit = database_time() + leases.c.seconds
    connection.execute(update(leases).where(leases.c.name == name, leases.c.expires > limit).values(expires=limit))


def _lock(connection: Connection, lease: Lease) -> None:
    """Check that the lease is ours, and lock it so that it cannot be taken until the transaction ends."""
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
        select(leases, left).where(leases.c.name == name, leases.c.expires > database_time())
    ).one_or_none()
    return Holder(row.owner, row.fence, row.left, process_of(row)) if row else None


def process_of(row: Row[Any]) -> ProcessIdentity | None:
    """The process that holds the lease of a row, if it was recorded."""
    return None if row.pid is None else ProcessIdentity(row.machine, row.pid, row.born)


def _parameters(process: ProcessIdentity | None) -> dict[str, Any]:
    known = asdict(process) if process else {}
    return {f"new_{column}": known.get(column) for column in _PROCESS}


def _held(name: str, holder: Holder | None) -> LeaseHeld:
    owner, seconds = (holder.owner, holder.seconds_left) if holder else ("somebody else", 0.0)
    return LeaseHeld(
        f"the lease {name} is held by {owner}",
        hint=f"wait until it is done; if it was killed, the lease ends in {max(seconds, 1):.0f} s",
    )
