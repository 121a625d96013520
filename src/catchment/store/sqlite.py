"""A metastore in an SQLite file, for several processes on one machine."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from shlex import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError

from catchment import private_files
from catchment.errors import CatchmentError, MetastoreUnavailable, SetupError
from catchment.os_errors import FREE_SOME, explained, is_full
from catchment.store.database import FLEETING, LOST_WITH_IT, REBUILD, UNREADABLE, WAIT

BUSY_SECONDS = 60
WRITING = {"catchment_writes": True}
"""Marks a transaction that waits for its turn before it reads anything."""

# Primary result codes of SQLite; Python has names for them only since 3.11.
_NO_ACCESS = {3, 8, 14, 23}  # PERM, READONLY, CANTOPEN, AUTH
_NO_DATABASE = {11, 26}  # CORRUPT, NOTADB
_FULL = 13
_PERHAPS_FULL = {0, 10, 14}  # IOERR and CANTOPEN, if a file beside the database cannot be created; Python 3.10 has 0


def engine(url: URL, connections: int) -> Engine:
    """Connections to an SQLite file; the file and its directory are created if missing."""
    _make_file(url)
    made = create_engine(url, pool_size=connections, max_overflow=0, pool_timeout=BUSY_SECONDS)
    event.listen(made, "connect", _prepare)
    event.listen(made, "begin", _begin)
    return made


def explain(error: DBAPIError, name: str) -> CatchmentError | None:
    """The Catchment error for a database error; None if the bug is in Catchment."""
    if type(error) not in (DatabaseError, OperationalError):
        return None  # a violated constraint or an invalid statement
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    place = Path(make_url(name).database or ".")
    if code == _FULL or (code in _PERHAPS_FULL and is_full(place.parent)):
        return MetastoreUnavailable(
            f"the disk of the metastore {place} is full: {error.orig}", code="disk-full", hint=FREE_SOME
        )
    if code in _NO_ACCESS:
        return SetupError(
            f"the metastore {name} cannot be opened for writing: {error.orig}",
            code=UNREADABLE,
            hint="check that the file and its directory belong to you, or set `metastore` in catchment.yaml",
        )
    if code in _NO_DATABASE or not isinstance(error.orig, sqlite3.OperationalError):
        return SetupError(
            f"the metastore {name} is not usable: {error.orig}",
            code="metastore-damaged",
            hint=f"{LOST_WITH_IT} Move the file away: `{_moving_away(place)}`; {REBUILD}",
        )
    return MetastoreUnavailable(
        f"the metastore {name} did not answer: {error.orig}",
        hint="another process may have held it for too long; try again",
    )


def _moving_away(place: Path) -> str:
    """A shell command that moves the database away, with the files that SQLite keeps beside it."""
    away = quote(str(place.parent / "damaged"))
    return f"mkdir -p {away} && mv {quote(str(place))}* {away}/"


def _make_file(url: URL) -> None:
    """Create the file for its owner only. SQLite gives `-wal` and `-shm` beside it the same permissions."""
    file = Path(url.database or "")
    directory = file.parent
    try:
        if not directory.exists():
            private_files.make_directory(directory)
        with suppress(OSError):  # SQLite itself will report what is wrong with the file
            private_files.make_file(file)
        for beside in (f"{file}-wal", f"{file}-shm"):
            private_files.tighten(Path(beside), 0o600)
    except OSError as error:
        if (known := explained(error)) is not None and known.code == "disk-full":
            raise known from error
        raise SetupError(
            f"the directory {directory} for the metastore cannot be made: {error.strerror}",
            code=UNREADABLE,
            hint="give yourself write permission there, or set `metastore` in catchment.yaml",
        ) from error


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    # Without this the driver begins transactions by its own rules, always deferred, and a writer that read first
    # fails at once with SQLITE_BUSY if another connection wrote in between.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    # SQLite does not wait here. If this is refused, another process is using the file and may be switching it to WAL
    # itself; everything is correct without WAL, too, and the next connection tries again.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    _set(connection, "busy_timeout", f"{options.get(WAIT, BUSY_SECONDS) * 1000:.0f}")
    # Records survive a power cut, except those that mean nothing after one.
    _set(connection, "synchronous", "NORMAL" if options.get(FLEETING) else "FULL")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("catchment_writes") else "BEGIN")


def _set(connection: Connection, pragma: str, value: str) -> None:
    if connection.info.get(pragma) != value:
        connection.exec_driver_sql(f"PRAGMA {pragma} = {value}")
        connection.info[pragma] = value
