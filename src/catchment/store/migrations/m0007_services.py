"""Services: processes that outlive the command that started them."""

from __future__ import annotations

from sqlalchemy import Connection, text


def apply(connection: Connection) -> None:
    """Create the table of services; a service is alive while its supervisor holds the lease with its name."""
    connection.execute(
        text(
            """
            CREATE TABLE services (
                name TEXT PRIMARY KEY,
                kind TEXT NOT NULL,
                command JSON NOT NULL,
                directory TEXT NOT NULL,
                log TEXT NOT NULL,
                restart TEXT NOT NULL,
                owner TEXT NOT NULL,
                host TEXT NOT NULL,
                machine TEXT,
                pid INTEGER NOT NULL,
                born BIGINT,
                status TEXT NOT NULL,
                started DOUBLE PRECISION NOT NULL,
                finished DOUBLE PRECISION,
                restarts INTEGER NOT NULL,
                exit_code INTEGER,
                error TEXT,
                stop_requested BOOLEAN NOT NULL
            )
            """
        )
    )
