"""A run remembers the range that its incremental jobs go through, so that it does when it is resumed."""

from __future__ import annotations

from sqlalchemy import Connection, text

KNOWN = """
    UPDATE runs SET backfill = (
        SELECT max(substr(windows.opened_by, length(runs.id) + length('run : ') + 1)) FROM windows
        WHERE windows.cause = 'backfill' AND windows.opened_by LIKE 'run ' || runs.id || ': %'
    )
"""
"""Of runs from before, the windows that they have listed tell it."""


def apply(connection: Connection) -> None:
    """Add the column to the table of runs, with what is known."""
    connection.execute(text("ALTER TABLE runs ADD COLUMN backfill TEXT"))
    connection.execute(text(KNOWN))
