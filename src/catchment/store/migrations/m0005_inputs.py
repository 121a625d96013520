"""Jobs record what they found in their inputs."""

from __future__ import annotations

from sqlalchemy import Connection, text


def apply(connection: Connection) -> None:
    """Create the table of inputs."""
    connection.execute(
        text(
            """
            CREATE TABLE inputs (
                run_id TEXT NOT NULL,
                job TEXT NOT NULL,
                name TEXT NOT NULL,
                position INTEGER NOT NULL,
                dataset TEXT NOT NULL,
                bad_rows BIGINT,
                PRIMARY KEY (run_id, job, name),
                FOREIGN KEY (run_id, job) REFERENCES jobs (run_id, name) ON DELETE CASCADE
            )
            """
        )
    )
