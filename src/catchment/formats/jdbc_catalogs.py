"""Reads the tables of catalogs in SQL databases, without Java. No Spark here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from catchment.formats.metadata_reading import NeedsEngine

CONNECT_SECONDS, ANSWER_SECONDS = 10, 30
"""Short, because an engine is tried next, which waits longer."""
SQLITE, POSTGRESQL = "jdbc:sqlite:", "jdbc:postgresql://"
_LIBPQ = {"user": "user", "password": "password", "sslmode": "sslmode", "sslrootcert": "sslrootcert"}
_HARMLESS = frozenset(
    {
        *("connectTimeout", "socketTimeout", "loginTimeout", "tcpKeepAlive", "prepareThreshold", "ApplicationName"),
        *("readOnly", "readOnlyMode", "reWriteBatchedInserts", "defaultRowFetchSize", "schema-version"),
    }
)
"""Settings of the JDBC driver that do not affect what is read."""

Row = Mapping[str, Any]


class Cursor(Protocol):
    """The common interface of both drivers' cursors."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None: ...
    def fetchall(self) -> list[Any]: ...


def select(properties: Mapping[str, str], table: str, given: Mapping[str, str]) -> list[Row]:
    """The rows of a table that have these values; none if the table or its database does not exist.

    `properties` are those of the catalog: `uri`, and the driver's with the prefix `jdbc.`.
    """
    uri = properties.get("uri", "")
    condition = " AND ".join(f"{column} = ?" for column in given)
    sql, values = f"SELECT * FROM {table} WHERE {condition}", tuple(given.values())  # noqa: S608 - our own names
    if uri.startswith(SQLITE):
        return _of_sqlite(uri.removeprefix(SQLITE), table, sql, values)
    if uri.startswith(POSTGRESQL):
        driver = {key.removeprefix("jdbc."): value for key, value in properties.items() if key.startswith("jdbc.")}
        return _of_postgresql(uri, driver, sql, values)
    raise NeedsEngine(f"only engines read catalogs at {uri.partition('//')[0]}")


def _of_sqlite(path: str, table: str, sql: str, values: Sequence[str]) -> list[Row]:
    if path.startswith((":", "file:")) or "?" in path:
        raise NeedsEngine("the uri of the catalog has options")
    if not Path(path).exists():
        return []
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=CONNECT_SECONDS)) as connection:
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
            return _rows(connection.execute(sql, values)) if known.fetchone() else []
    except sqlite3.Error as error:
        raise NeedsEngine(f"the catalog cannot be read: {error}") from error


def _of_postgresql(uri: str, driver: Mapping[str, str], sql: str, values: Sequence[str]) -> list[Row]:
    import psycopg

    try:
        with _connected(uri, driver) as connection:
            return _rows(connection.execute(sql.replace("?", "%s"), values))
    except psycopg.errors.UndefinedTable:
        return []
    except psycopg.Error as error:
        raise NeedsEngine(f"the catalog cannot be read: {error}") from error


@contextmanager
def _connected(uri: str, driver: Mapping[str, str]) -> Iterator[Any]:
    import psycopg

    parts = urlsplit(uri.removeprefix("jdbc:"))
    given = {**dict(parse_qsl(parts.query)), **driver}
    strange = next((key for key in given if key not in _LIBPQ and key not in _HARMLESS), None)
    if strange or "," in parts.netloc or "@" in parts.netloc or not given.get("user"):
        raise NeedsEngine(f"jdbc.{strange} is set" if strange else "the uri of the catalog has no plain host and user")
    named: dict[str, Any] = {_LIBPQ[key]: value for key, value in given.items() if key in _LIBPQ}
    with psycopg.connect(
        host=parts.hostname,
        port=parts.port or 5432,
        dbname=unquote(parts.path.lstrip("/")) or given["user"],
        connect_timeout=CONNECT_SECONDS,
        options=f"-c default_transaction_read_only=on -c statement_timeout={ANSWER_SECONDS}s",
        autocommit=True,
        **named,
    ) as connection:
        yield connection


def _rows(cursor: Cursor) -> list[Row]:
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
