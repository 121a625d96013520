"""Who reads the lake now, and since when: files that they may still need are not removed."""

from __future__ import annotations

from sqlalchemy import Connection, text

STATEMENT = """
CREATE TABLE readers (
    name TEXT PRIMARY KEY,
    since DOUBLE PRECISION NOT NULL,
    expires DOUBLE PRECISION NOT NULL
)
"""


def apply(connection: Connection) -> None:
    """Create the table of readers."""
    connection.execute(text(STATEMENT))
