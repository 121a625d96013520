"""Where incremental jobs stand, and the windows that brought them there."""

from __future__ import annotations

from sqlalchemy import Connection, text

STATEMENTS = (
    """
    CREATE TABLE states (
        workflow TEXT NOT NULL,
        job TEXT NOT NULL,
        input TEXT NOT NULL,
        keys JSON NOT NULL,
        zone TEXT NOT NULL,
        changed DOUBLE PRECISION NOT NULL,
        changed_by TEXT NOT NULL,
        PRIMARY KEY (workflow, job, input)
    )
    """,
    """
    CREATE TABLE windows (
        workflow TEXT NOT NULL,
        job TEXT NOT NULL,
        number BIGINT NOT NULL,
        cause TEXT NOT NULL,
        status TEXT NOT NULL,
        identity TEXT NOT NULL,
        inputs JSON NOT NULL,
        opened DOUBLE PRECISION NOT NULL,
        finished DOUBLE PRECISION,
        opened_by TEXT NOT NULL,
        PRIMARY KEY (workflow, job, number)
    )
    """,
    "CREATE INDEX windows_by_status ON windows (workflow, job, status)",
)


def apply(connection: Connection) -> None:
    """Create the tables of incremental state."""
    for statement in STATEMENTS:
        connection.execute(text(statement))
