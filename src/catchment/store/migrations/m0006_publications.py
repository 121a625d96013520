"""Publications: which version of a table its readers were shown, when, and by whom."""

from __future__ import annotations

from sqlalchemy import Connection, text

STATEMENT = """
    CREATE TABLE publications (
        target TEXT NOT NULL,
        number BIGINT NOT NULL,
        id TEXT NOT NULL,
        catalog TEXT NOT NULL,
        file TEXT NOT NULL,
        file_before TEXT,
        snapshot_id BIGINT,
        at DOUBLE PRECISION NOT NULL,
        by_whom TEXT NOT NULL,
        run_id TEXT,
        job TEXT,
        PRIMARY KEY (target, number)
    )
    """


def apply(connection: Connection) -> None:
    """Create the table of publications."""
    connection.execute(text(STATEMENT))
