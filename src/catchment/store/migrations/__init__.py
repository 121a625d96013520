"""Numbered migrations: each one upgrades the metastore from the previous number, and is never changed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, func, inspect, select, text

from catchment.errors import SetupError
from catchment.store.database import Database
from catchment.store.migrations import (
    m0001_metastore,
    m0002_upkeep,
    m0003_identity,
    m0004_window_records,
    m0005_inputs,
    m0006_engines,
    m0007_services,
    m0008_run_requests,
)

Migration = Callable[[Connection], None]

MIGRATIONS: Mapping[int, Migration] = {
    1: m0001_metastore.apply,
    2: m0002_upkeep.apply,
    3: m0003_identity.apply,
    4: m0004_window_records.apply,
    5: m0005_inputs.apply,
    6: m0006_engines.apply,
    7: m0007_services.apply,
    8: m0008_run_requests.apply,
}
NEWEST = max(MIGRATIONS)

_LOCK = 0x6361746368
"""The PostgreSQL advisory lock for migrations; SQLite allows only one writing transaction anyway."""


def migrate(database: Database) -> None:
    """Bring the metastore to the newest form; several processes may do this at once."""
    if _applied(database) == NEWEST:
        return
    with database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        connection.execute(text("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)"))
        # Read again: the previous holder of the lock may have done the work.
        done = _newest(connection)
        for number in range(done + 1, NEWEST + 1):
            MIGRATIONS[number](connection)
            connection.execute(text("INSERT INTO migrations (number) VALUES (:number)"), {"number": number})


def _applied(database: Database) -> int:
    with database.reading() as connection:
        applied = _newest(connection) if inspect(connection).has_table("migrations") else 0
    if applied > NEWEST:
        raise SetupError(
            f"the metastore {database.name} was written by a newer Catchment (form {applied}, this one knows {NEWEST})",
            code="metastore-too-new",
            hint="update Catchment, or set `metastore` in catchment.yaml to another place",
        )
    return applied


def _newest(connection: Connection) -> int:
    return connection.scalar(text("SELECT max(number) FROM migrations")) or 0
