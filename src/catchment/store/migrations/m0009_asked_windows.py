"""A run remembers how many windows its incremental jobs may take, so that it goes on with them when it is resumed."""

from __future__ import annotations

from sqlalchemy import Connection, text


def apply(connection: Connection) -> None:
    """Add the column to the table of runs; runs from before take one window, as they did."""
    connection.execute(text("ALTER TABLE runs ADD COLUMN windows INTEGER NOT NULL DEFAULT 1"))
