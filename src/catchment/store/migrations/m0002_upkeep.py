"""What keeps a metastore honest and quick for years."""

from __future__ import annotations

from sqlalchemy import Connection, text

PRESENCE = (
    "ALTER TABLE leases ADD COLUMN seconds DOUBLE PRECISION NOT NULL DEFAULT 60",
    """
    CREATE TABLE uptime (
        id INTEGER PRIMARY KEY,
        since DOUBLE PRECISION NOT NULL,
        heard DOUBLE PRECISION NOT NULL
    )
    """,
)
"""How long leases were given for; since when engines have been heard from without a gap, and when last: one row."""


def apply(connection: Connection) -> None:
    """Add what the first release did not have."""
    for statement in PRESENCE:
        connection.execute(text(statement))
