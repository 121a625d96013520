"""Schedules: up to when the ticks of each workflow are decided, and what became of those that were claimed."""

from __future__ import annotations

from sqlalchemy import Connection, text

STATEMENTS = (
    """
    CREATE TABLE schedules (
        workflow TEXT PRIMARY KEY,
        rule TEXT NOT NULL,
        decided DOUBLE PRECISION NOT NULL
    )
    """,
    """
    CREATE TABLE ticks (
        workflow TEXT NOT NULL,
        tick DOUBLE PRECISION NOT NULL,
        owner TEXT NOT NULL,
        run_id TEXT,
        tries INTEGER NOT NULL,
        claimed DOUBLE PRECISION NOT NULL,
        asked TEXT,
        outcome TEXT,
        reason TEXT,
        error JSON,
        PRIMARY KEY (workflow, tick)
    )
    """,
    "CREATE INDEX ticks_by_time ON ticks (tick)",
)


def apply(connection: Connection) -> None:
    """Create the tables of schedules."""
    for statement in STATEMENTS:
        connection.execute(text(statement))
