"""Runs, their jobs, attempts and outputs, and the story of each as events. Times are seconds since 1970, UTC."""

from __future__ import annotations

from sqlalchemy import Connection, text

STATEMENTS = (
    """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        workflow TEXT NOT NULL,
        file TEXT NOT NULL,
        status TEXT NOT NULL,
        reference_time TEXT NOT NULL,
        started DOUBLE PRECISION NOT NULL,
        resumed DOUBLE PRECISION,
        finished DOUBLE PRECISION
    )
    """,
    "CREATE INDEX runs_by_start ON runs (started)",
    """
    CREATE TABLE jobs (
        run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        position INTEGER NOT NULL,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        started DOUBLE PRECISION,
        finished DOUBLE PRECISION,
        error JSON,
        PRIMARY KEY (run_id, name)
    )
    """,
    """
    CREATE TABLE attempts (
        run_id TEXT NOT NULL,
        job TEXT NOT NULL,
        number INTEGER NOT NULL,
        engine TEXT NOT NULL,
        status TEXT NOT NULL,
        started DOUBLE PRECISION NOT NULL,
        finished DOUBLE PRECISION,
        error JSON,
        PRIMARY KEY (run_id, job, number),
        FOREIGN KEY (run_id, job) REFERENCES jobs (run_id, name) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE outputs (
        run_id TEXT NOT NULL,
        job TEXT NOT NULL,
        name TEXT NOT NULL,
        position INTEGER NOT NULL,
        dataset TEXT NOT NULL,
        write_id TEXT NOT NULL,
        rows_written BIGINT,
        files_written BIGINT,
        snapshot_id BIGINT,
        PRIMARY KEY (run_id, job, name),
        FOREIGN KEY (run_id, job) REFERENCES jobs (run_id, name) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE events (
        run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        at DOUBLE PRECISION NOT NULL,
        kind TEXT NOT NULL,
        job TEXT,
        attempt INTEGER,
        engine TEXT,
        data JSON NOT NULL,
        PRIMARY KEY (run_id, number)
    )
    """,
)


def apply(connection: Connection) -> None:
    """Create the tables of runs."""
    for statement in STATEMENTS:
        connection.execute(text(statement))
