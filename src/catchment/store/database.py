"""The database under the metastore: connections, short transactions, its clock, its troubles as our errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Double

from catchment.errors import CatchmentError, RequestError, SetupError, StorageUnavailable

BUSY_SECONDS = 60

# Primary result codes of SQLite; Python names them only from 3.11 on.
_NO_ACCESS = {3, 8, 14, 23}  # PERM, READONLY, CANTOPEN, AUTH
_NO_DATABASE = {11, 26}  # CORRUPT, NOTADB


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


class Database:
    """A pool of connections to one database; every use of it is one short transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        """How messages name the database; never with a password."""
        return self._engine.url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads: it waits for nobody."""
        with self._told(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes: it waits its turn before it reads anything, so it never loses to a later one."""
        options = {"catchment_writes": True}
        with self._told(), self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Give every connection back."""
        self._engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except DatabaseError as error:
            if type(error) not in (DatabaseError, OperationalError):
                raise  # a broken constraint or a wrong statement is a defect of ours
            raise _as_ours(error, self.name) from error


def connect(url: str) -> Database:
    """The database at a SQLAlchemy URL; a SQLite file and its directory are made if missing."""
    parsed = _parse(url)
    _make_directory(parsed)
    engine = create_engine(parsed)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return Database(engine)


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise RequestError(
            f"the metastore address {url!r} is not a database URL",
            code="bad-metastore",
            hint="write it as sqlite:///path/to/metastore.db",
        ) from error
    if parsed.get_backend_name() != "sqlite":
        raise RequestError(
            f"a metastore on {parsed.get_backend_name()} is not supported yet",
            code="unsupported-metastore",
            hint="use sqlite:///path/to/metastore.db",
        )
    return parsed


def _make_directory(url: URL) -> None:
    directory = Path(url.database or ".").parent
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            f"the directory {directory} for the metastore cannot be made: {error.strerror}",
            code="metastore-unreadable",
            hint="give yourself write permission there, or set `metastore` in catchment.yaml",
        ) from error


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # Without this the driver begins transactions by its own rules, always deferred, and a writer that read first
    # fails at once with SQLITE_BUSY when somebody else wrote in between.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")  # what was recorded stays recorded, a power cut included
    # SQLite does not wait for this one. If it is refused, somebody is at the file and may be switching it himself;
    # everything is right without it too, and the next connection tries again.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("catchment_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _as_ours(error: DatabaseError, name: str) -> CatchmentError:
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    if code in _NO_ACCESS:
        return SetupError(
            f"the metastore {name} cannot be opened for writing: {error.orig}",
            code="metastore-unreadable",
            hint="check that the file and its directory belong to you, or set `metastore` in catchment.yaml",
        )
    if code in _NO_DATABASE or not isinstance(error.orig, sqlite3.OperationalError):
        return SetupError(
            f"the metastore {name} is not usable: {error.orig}",
            code="metastore-damaged",
            hint="move the file away (a new one is made), or bring back a copy of it",
        )
    return StorageUnavailable(
        f"the metastore {name} did not answer: {error.orig}",
        code="metastore-unavailable",
        hint=f"another process may have held it for more than {BUSY_SECONDS} s; try again",
    )
