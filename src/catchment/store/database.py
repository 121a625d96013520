"""The database under the metastore: connections, short transactions, its clock, its troubles as our errors."""

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

from catchment.errors import CatchmentError, MetastoreUnavailable, RequestError

PAUSE_SECONDS = 0.5
"""How long to wait before a step is taken again."""
CONNECTIONS = 2
"""How many connections a process uses at once, beside one for signs of life: thirty engines share one server."""
RENEWAL_SECONDS = 2.0
"""How long a sign of life waits for others: less than a third of the shortest lease."""
WAIT = "catchment_wait"
"""The option of a transaction that says how many seconds it waits for others."""
FLEETING = "catchment_fleeting"
"""The option of a transaction of which a database on this machine may lose the end in a power cut."""

LOST_WITH_IT = (
    "bring back a copy of it if you have one. Otherwise what only the metastore knew is lost: sealed writes that were "
    "not published yet, incremental state, runs and their history. Your tables are as they were."
)
"""What a damaged metastore means."""
REBUILD = "then `catchment recover --rebuild` records in a new one what the tables have"

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class database_time(FunctionElement[float]):  # noqa: N801 - reads like the SQL function that it is
    """Seconds since 1970 by the database's clock, which is the same for everybody who asks."""

    type = Double()
    inherit_cache = True


@compiles(database_time, "sqlite")
def _sqlite_time(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(database_time, "postgresql")
def _postgresql_time(*_: Any, **__: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


def now(connection: Connection) -> float:
    """The database's time as a value: PostgreSQL looks nothing up in an index by a time that goes on meanwhile."""
    return float(connection.execute(select(database_time())).scalar_one())


def insert_missing(connection: Connection, table: TableClause, row: Mapping[str, Any]) -> bool:
    """Insert a row unless its key is there; waits for whoever is inserting the same key. Says whether it did."""
    moments = frozenset(name for name, value in row.items() if isinstance(value, database_time))
    given = {f"new_{name}": value for name, value in row.items() if name not in moments}
    statement = _insertion(connection.dialect.name, table, tuple(row), moments)
    return connection.execute(statement, given).rowcount == 1


@lru_cache(maxsize=64)
def _insertion(dialect: str, table: TableClause, columns: tuple[str, ...], moments: frozenset[str]) -> Executable:
    # One of the two is enough, and each takes its time to load.
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
        """When nothing could be written for the first time since something last could."""

    def patiently(self, step: Callable[[], Answer]) -> Answer:
        """Take a step, and take it again while the database does not answer and there is patience left."""
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
        """A transaction that only reads, all of it at one moment: it waits for nobody."""
        with self._transaction(self._engine, self._reading) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes.

        In SQLite it waits its turn before it reads anything. In PostgreSQL writers work side by side: a row that was
        read in order to be changed must have been locked (`with_for_update`, `insert_missing` or an update) first.
        """
        with self._noting_absence(), self._transaction(self._engine, self._writing) as connection:
            yield connection

    @contextmanager
    def fleeting(self) -> Iterator[Connection]:
        """A transaction that writes what means nothing after a power cut: who holds a lease, what is being written.

        An SQLite file does not wait for its disk here. A later transaction of `writing` that lasts makes this one last.
        """
        options = {**self._writing, FLEETING: True}
        with self._noting_absence(), self._transaction(self._engine, options) as connection:
            yield connection

    @contextmanager
    def renewing(self) -> Iterator[Connection]:
        """A transaction that writes a sign of life: it has a connection to itself, and soon stops waiting for others.

        A lease must not be lost because every connection waits for a process that stands still.
        """
        options = {**self._writing, WAIT: RENEWAL_SECONDS, FLEETING: True}
        with self._noting_absence(), self._transaction(self._spare, options) as connection:
            yield connection

    def close(self) -> None:
        """Give every connection back."""
        self._engine.dispose()
        self._spare.dispose()

    @contextmanager
    def _noting_absence(self) -> Iterator[None]:
        # Reading tells nothing: it goes on while the disk is full.
        try:
            yield
        except MetastoreUnavailable:
            self._away_since = self._away_since or time.monotonic()
            raise
        self._away_since = None

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
                raise  # a broken constraint or a wrong statement is a defect of ours
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
    """Marks a step that may be taken twice. It is taken again where the database's answer was lost."""

    @wraps(step)
    def patient(self: _HasDatabase, /, *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        return self._database.patiently(partial(step, self, *args, **kwargs))

    return patient


def connect(url: str, patience: float = 0.0, *, once: bool = False) -> Database:
    """The database at a URL; an SQLite file and its directory are made if missing.

    `patience` is how many seconds a repeatable step waits for a database that does not answer. With `once`, they are
    counted from when it first did not, whoever noticed.
    """
    parsed = _parse(url)
    # One of the two is enough, and the driver of the other takes its time to load.
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
    except (ArgumentError, ValueError) as error:  # neither is quoted: the address may hold a password
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
