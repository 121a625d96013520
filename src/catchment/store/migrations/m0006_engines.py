"""Engines record which engine of the project they are."""

from __future__ import annotations

from sqlalchemy import Connection, text


def apply(connection: Connection) -> None:
    """Create the table of engines; each row has the name of the lease that marks the engine as alive."""
    connection.execute(
        text(
            """
            CREATE TABLE engines (
                name TEXT PRIMARY KEY,
                engine TEXT NOT NULL,
                spark TEXT NOT NULL,
                master TEXT NOT NULL,
                started DOUBLE PRECISION NOT NULL
            )
            """
        )
    )
