"""Leases: time-limited rights with a fencing number."""

from __future__ import annotations

from sqlalchemy import Connection, text

STATEMENT = """
    CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        owner TEXT,
        fence BIGINT NOT NULL,
        expires DOUBLE PRECISION NOT NULL
    )
"""


def apply(connection: Connection) -> None:
    """Create the table of leases."""
    connection.execute(text(STATEMENT))
