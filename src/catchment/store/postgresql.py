"""A metastore in a PostgreSQL database, for processes on several machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping
from sqlalchemy import Connection, Dialect, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError

from catchment.errors import CatchmentError, MetastoreUnavailable, RequestError, SetupError
from catchment.os_errors import FREE_SOME
from catchment.store.database import LOST_WITH_IT, REBUILD, UNREADABLE, WAIT

BUSY_SECONDS = 60
STALLED_SECONDS = 30
"""A transaction that is idle for this long is ended, so that a stopped process does not block others."""
READING = {"isolation_level": "REPEATABLE READ"}
"""Every statement of a read-only transaction sees the same snapshot, as in SQLite."""

# With these, a server that has vanished is noticed within a minute. Settings in the URL take precedence.
_PATIENCE = {
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "catchment",
}
_SYNCHRONOUS = "synchronous_commit"
_ASKED = f"current_setting('{_SYNCHRONOUS}')"
_OWN_WORDS = {"context", "password", "sslpassword"}
_CROWDED = ("too many clients", "too many connections", "connection slots")

_SETUP = {
    "42501": "give the user the right to create and change tables: GRANT ALL ON SCHEMA public TO …",
    "3F000": "give the user a schema to work in: GRANT ALL ON SCHEMA public TO …",
    "25006": "it is a replica or read-only; set `metastore` to the server that takes writes",
}
_DAMAGED = {"XX001", "XX002", "42P01", "42703"}  # damaged pages; tables or columns that were removed
_DISK_FULL = "53100"


def engine(url: URL, connections: int) -> Engine:
    """Connections to a PostgreSQL database; few of them, because every engine of the lake has its own."""
    made = create_engine(
        url.set(drivername="postgresql+psycopg"),
        isolation_level="READ COMMITTED",
        pool_pre_ping=True,  # a restarted server costs a new connection, not a failed write
        pool_size=connections,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        connect_args={key: value for key, value in _PATIENCE.items() if key not in url.query},
    )
    shown = name(url)

    def dial(dialect: Dialect, _record: object, arguments: Any, settings: dict[str, Any]) -> Any:
        return _dial(dialect, arguments, settings, shown)

    event.listen(made, "do_connect", dial)
    event.listen(made, "connect", _prepare)
    event.listen(made, "begin", _begin)
    return made


def name(url: URL) -> str:
    """The URL as messages show it, without passwords."""
    return url.difference_update_query(("password", "sslpassword")).render_as_string(hide_password=True)


def explain(error: DBAPIError, name: str) -> CatchmentError | None:
    """The Catchment error for a database error; None if the bug is in Catchment."""
    state = getattr(error.orig, "sqlstate", None) or ""
    if state in _SETUP:
        message = f"the metastore {name} does not take what we write: {_words(error.orig)}"
        return SetupError(message, code=UNREADABLE, hint=_SETUP[state])
    if state in _DAMAGED:
        message = f"the metastore {name} is not usable: {_words(error.orig)}"
        hint = f"{LOST_WITH_IT} Name an empty database as `metastore` in catchment.yaml; {REBUILD}"
        return SetupError(message, code="metastore-damaged", hint=hint)
    if state == _DISK_FULL:
        message = f"the disk of the metastore {name} is full: {_words(error.orig)}"
        return MetastoreUnavailable(message, code="disk-full", hint=FREE_SOME)
    if isinstance(error, OperationalError) or error.connection_invalidated:
        return _unavailable(name, error.orig)
    return None


def _dial(dialect: Dialect, arguments: Any, settings: dict[str, Any], name: str) -> Any:
    try:
        return dialect.connect(*arguments, **settings)
    except psycopg.ProgrammingError as error:
        hint = "mend what follows the `?` of `metastore` in catchment.yaml"
        raise RequestError(f"{name}: {_words(error)}", code="bad-metastore", hint=hint) from error
    except psycopg.OperationalError as error:
        if isinstance(error, psycopg.errors.ConnectionTimeout) or not _answers(settings):
            raise _unavailable(name, error) from error
    # The server is up. Either it has just come back, or it refuses us.
    try:
        return dialect.connect(*arguments, **settings)
    except psycopg.OperationalError as error:
        raise _refused(name, error) from error


def _answers(settings: Mapping[str, Any]) -> bool:
    """Whether the server accepts connections at all: the error of a failed connection has no code that tells."""
    # With a short timeout: no other thread of this process runs during the ping.
    known = {key: value for key, value in settings.items() if key not in _OWN_WORDS} | {"connect_timeout": 2}
    return PGconn.ping(make_conninfo(**known).encode()) == Ping.OK


def _refused(name: str, error: psycopg.OperationalError) -> CatchmentError:
    words = _words(error)
    # No code tells these from a wrong password, only the server's message, and only if that is in English.
    if any(crowded in words for crowded in _CROWDED):
        return _unavailable(name, error)
    return SetupError(
        f"the metastore {name} does not let us in: {words}",
        code=UNREADABLE,
        hint="check user, password and database of `metastore` in catchment.yaml; the database has to exist",
    )


def _unavailable(name: str, error: BaseException | None) -> MetastoreUnavailable:
    return MetastoreUnavailable(
        f"the metastore {name} did not answer: {_words(error)}",
        hint="see that the server runs and can be reached from this machine, then try again",
    )


def _words(error: BaseException | None) -> str:
    return " ".join(str(error).split())


def _prepare(connection: psycopg.Connection[Any], _record: object) -> None:
    if _SYNCHRONOUS not in connection.info.options:
        # A server that acknowledges a commit before it is on disk would lose seals in a power cut.
        connection.execute(f"SELECT set_config('{_SYNCHRONOUS}', 'on', false) WHERE {_ASKED} = 'off'".encode())
    connection.execute(f"SET lock_timeout = '{BUSY_SECONDS}s'")
    connection.execute(f"SET idle_in_transaction_session_timeout = '{STALLED_SECONDS}s'")
    connection.commit()


def _begin(connection: Connection) -> None:
    wait = connection.get_execution_options().get(WAIT)
    if wait is not None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{wait}s'")
