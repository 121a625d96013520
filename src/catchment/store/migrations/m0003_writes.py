"""The ledger: writes and what became of them, how far the seals of each table are numbered, buffers to remove."""

from __future__ import annotations

from sqlalchemy import Connection, text

STATEMENTS = (
    """
    CREATE TABLE writes (
        write_id TEXT PRIMARY KEY,
        workflow TEXT NOT NULL,
        target TEXT NOT NULL,
        branch TEXT NOT NULL,
        mode TEXT NOT NULL,
        conflict TEXT NOT NULL,
        state TEXT NOT NULL,
        tried INTEGER NOT NULL,
        owner TEXT NOT NULL,
        buffer TEXT NOT NULL,
        table_uuid TEXT NOT NULL,
        base_schema INTEGER NOT NULL,
        base_sequence BIGINT NOT NULL,
        base_snapshot BIGINT,
        opened DOUBLE PRECISION NOT NULL,
        sealed DOUBLE PRECISION,
        finished DOUBLE PRECISION,
        number BIGINT,
        rows_written BIGINT,
        bytes_written BIGINT,
        files_written BIGINT,
        descriptors TEXT,
        snapshot_id BIGINT,
        error JSON
    )
    """,
    "CREATE INDEX writes_by_target ON writes (target, state, number)",
    "CREATE UNIQUE INDEX writes_by_seal ON writes (target, number)",
    """
    CREATE TABLE seals (
        target TEXT PRIMARY KEY,
        number BIGINT NOT NULL
    )
    """,
    """
    CREATE TABLE leftovers (
        buffer TEXT PRIMARY KEY,
        write_id TEXT NOT NULL,
        target TEXT NOT NULL
    )
    """,
)


def apply(connection: Connection) -> None:
    """Create the tables of the ledger."""
    for statement in STATEMENTS:
        connection.execute(text(statement))
