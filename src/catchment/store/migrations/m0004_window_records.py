"""Writes of incremental jobs remember their window, which goes into the table's history with them."""

from __future__ import annotations

from sqlalchemy import Connection, text


def apply(connection: Connection) -> None:
    """Add the column; it stays empty for older writes."""
    connection.execute(text("ALTER TABLE writes ADD COLUMN window_record JSON"))
