"""The database of the metastore: connections, short transactions, its clock, and its errors as ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, Engine, Executable, bindparam, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionFree
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import TableClause
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Double

from catchment.errors import CatchmentError, MetastoreUnavailable, RequestError, SetupError

PAUSE_SECONDS = 0.5
"""The pause before a step is repeated."""
CONNECTIONS = 2
"""Connections per process, besides one for signs of life. Few, because thirty engines may share one server."""
RENEWAL_SECONDS = 2.0
"""How long a sign of life waits for locks: less than a third of the shortest lease."""
WAIT = "catchment_wait"
"""The execution option for how many seconds a transaction waits for locks."""
FLEETING = "catchment_fleeting"
"""The execution option for a transaction that a local database may lose in a power cut."""

UNREADABLE = "metastore-unreadable"
"""The code of a database that cannot be opened or written."""
LOST_WITH_IT = (
    "bring back a copy of it if you have one. Otherwise what only the metastore knew is lost: sealed writes that were "
    "not published yet, incremental state, runs and their history. Your tables are as they were."
)
"""What is lost with a damaged metastore."""
REBUILD = "then `catchment recover --rebuild` records in a new one what the tables have"

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class database_time(FunctionElement[float]):  # noqa: N801 - reads like the SQL function that it is
    """Seconds since 1970 by the database's clock, which is the same for all processes."""

    type = Double()
    inherit_cache = True


@compiles(database_time, "sqlite")
def _sqlite_time(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(database_time, "postgresql")
def _postgresql_time(*_: Any, **__: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


def now(connection: Connection) -> float:
    """The database's time as a constant: PostgreSQL cannot use an index to compare with a volatile function."""
    return float(connection.execute(select(database_time())).scalar_one())


def insert_missing(connection: Connection, table: TableClause, row: Mapping[str, Any]) -> bool:
    """Insert a row unless its key exists; waits for a concurrent insert of the same key. Returns whether it did."""
    moments = frozenset(name for name, value in row.items() if isinstance(value, database_time))
    given = {f"new_{name}": value for name, value in row.items() if name not in moments}
    statement = _insertion(connection.dialect.name, table, tuple(row), moments)
    return connection.execute(statement, given).rowcount == 1


@lru_cache(maxsize=64)
def _insertion(dialect: str, table: TableClause, columns: tuple[str, ...], moments: frozenset[str]) -> Executable:
    # Only one dialect is needed, and each is slow to import.
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]
    values = {name: database_time() if name in moments else bindparam(f"new_{name}") for name in columns}
    return insert(table).values(values).on_conflict_do_nothing().execution_options(preserve_rowcount=True)


class Database:
    """A pool of connections to one database; every use of it is one short transaction."""

    def __init__(
        self,
        name: str,
        engine: Engine,
        explain: Callable[[DBAPIError, str], CatchmentError | None],
        *,
        spare: Engine,
        reading: Mapping[str, Any] | None = None,
        writing: Mapping[str, Any] | None = None,
        patience: float = 0.0,
        once: bool = False,
    ) -> None:
        self.name = name
        """How messages name the database; never with a password."""
        self._engine = engine
        self._spare = spare
        self._explain = explain
        self._reading = reading or {}
        self._writing = writing or {}
        self._patience, self._once = patience, once
        self._away_since: float | None = None
        """When the first write failed since the last one that succeeded; None if the last one succeeded."""
        self._has_written = False

    def patiently(self, step: Callable[[], Answer]) -> Answer:
        """Run a step, and repeat it while the database does not answer and patience lasts."""
        began = time.monotonic()
        while True:
            try:
                return step()
            except MetastoreUnavailable:
                since = (self._once and self._away_since) or began
                if time.monotonic() >= since + self._patience:
                    raise
                time.sleep(PAUSE_SECONDS)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read-only transaction on one consistent snapshot; it never waits for writers."""
        with self._transaction(self._engine, self._reading) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes.

        In SQLite it waits for its turn before it reads anything. In PostgreSQL writers run concurrently: a row that is
        read in order to be changed must be locked first (`with_for_update`, `insert_missing` or an update).
        """
        with self._noting_absence(), self._transaction(self._engine, self._writing) as connection:
            yield connection

    @contextmanager
    def fleeting(self) -> Iterator[Connection]:
        """A transaction for records that mean nothing after a power cut: who holds a lease, which writes are open.

        SQLite does not wait for the disk here. A later transaction of `writing` makes this one durable, too.
        """
        options = {**self._writing, FLEETING: True}
        with self._noting_absence(), self._transaction(self._engine, options) as connection:
            yield connection

    @contextmanager
    def renewing(self) -> Iterator[Connection]:
        """A transaction that writes a sign of life: it has its own connection, and waits only briefly for locks.

        A lease must not be lost because all other connections wait for a process that has stalled.
        """
        options = {**self._writing, WAIT: RENEWAL_SECONDS, FLEETING: True}
        with self._noting_absence(), self._transaction(self._spare, options) as connection:
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()
        self._spare.dispose()

    @contextmanager
    def _noting_absence(self) -> Iterator[None]:
        # Reads do not count: they still work when the disk is full.
        try:
            yield
        except MetastoreUnavailable:
            self._away_since = self._away_since or time.monotonic()
            raise
        except SetupError as error:
            if not self._has_written or error.code != UNREADABLE:
                raise
            # It took our writes before, so this may pass: after a failover, a demoted server is read-only for a while.
            self._away_since = self._away_since or time.monotonic()
            raise MetastoreUnavailable(error.message, code=error.code, hint=error.hint) from error
        self._away_since, self._has_written = None, True

    @contextmanager
    def _transaction(self, engine: Engine, options: Mapping[str, Any]) -> Iterator[Connection]:
        with self._told(), engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            ours = self._explain(error, self.name)
            if ours is None:
                raise  # a violated constraint or an invalid statement is a bug in Catchment
            raise ours from error
        except NoConnectionFree as error:
            raise MetastoreUnavailable(
                f"every connection of this process to the metastore {self.name} was in use for too long",
                hint="the database is very slow, or somebody holds its locks; look at it, then try again",
            ) from error


class _HasDatabase(Protocol):
    _database: Database


Step = Callable[Concatenate[Any, Given], Answer]


def repeatable(step: Step[Given, Answer]) -> Step[Given, Answer]:
    """Marks a step that is safe to run twice: it is repeated if the database's answer was lost."""

    @wraps(step)
    def patient(self: _HasDatabase, /, *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        return self._database.patiently(partial(step, self, *args, **kwargs))

    return patient


def connect(url: str, patience: float = 0.0, *, once: bool = False) -> Database:
    """The database at a URL; an SQLite file and its directory are created if missing.

    `patience` is how many seconds a repeatable step waits for a database that does not answer. With `once`, they count
    from the beginning of the outage and not from the beginning of each step.
    """
    parsed = _parse(url)
    # Only one driver is needed, and each is slow to import.
    if parsed.get_backend_name() == "postgresql":
        from catchment.store import postgresql

        engine, spare = postgresql.engine(parsed, CONNECTIONS), postgresql.engine(parsed, 1)
        name, reading = postgresql.name(parsed), postgresql.READING
        return Database(name, engine, postgresql.explain, spare=spare, reading=reading, patience=patience, once=once)
    from catchment.store import sqlite

    engine, spare = sqlite.engine(parsed, CONNECTIONS), sqlite.engine(parsed, 1)
    writing = sqlite.WRITING
    return Database(str(parsed), engine, sqlite.explain, spare=spare, writing=writing, patience=patience, once=once)


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:  # not quoted below: the address may contain a password
        raise RequestError(
            "the metastore's address is not a database URL",
            code="bad-metastore",
            hint="write it as sqlite:///path/to/metastore.db or postgresql://user:password@host/database",
        ) from error
    if parsed.drivername not in ("sqlite", "postgresql"):
        raise RequestError(
            f"a metastore on {parsed.drivername} is not supported",
            code="unsupported-metastore",
            hint="use sqlite:///path/to/metastore.db or postgresql://user:password@host/database",
        )
    return parsed
