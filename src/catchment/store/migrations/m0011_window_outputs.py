"""A window remembers which outputs it was begun for, so that it is not finished into others."""

from __future__ import annotations

from sqlalchemy import Connection, text


def apply(connection: Connection) -> None:
    """Add the column to the table of windows; of windows from before nobody knows."""
    connection.execute(text("ALTER TABLE windows ADD COLUMN outputs JSON"))
