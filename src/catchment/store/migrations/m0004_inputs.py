"""The ledger remembers which states of its inputs a write was computed from."""

from __future__ import annotations

from sqlalchemy import Connection, text


def apply(connection: Connection) -> None:
    """Add the column to the table of writes."""
    connection.execute(text("ALTER TABLE writes ADD COLUMN inputs JSON"))
