"""What a metastore needs to stay correct and fast for years."""

from __future__ import annotations

from sqlalchemy import Connection, text

PRESENCE = (
    "ALTER TABLE leases ADD COLUMN seconds DOUBLE PRECISION NOT NULL DEFAULT 60",
    """
    CREATE TABLE uptime (
        id INTEGER PRIMARY KEY,
        since DOUBLE PRECISION NOT NULL,
        heard DOUBLE PRECISION NOT NULL
    )
    """,
)
"""The duration of leases; and in one row, since when engines were heard from without a gap, and when last."""

LEDGER = (
    """
    CREATE TABLE done (
        write_id TEXT PRIMARY KEY,
        target TEXT NOT NULL,
        branch TEXT NOT NULL,
        snapshot_id BIGINT,
        rows_written BIGINT NOT NULL,
        bytes_written BIGINT NOT NULL,
        files_written BIGINT NOT NULL
    )
    """,
)
"""What is kept of a committed write when its row is pruned: later attempts must know it."""

INDEXES = (
    "CREATE INDEX writes_unfinished ON writes (target) WHERE state IN ('open', 'sealed')",
    "CREATE INDEX writes_by_finish ON writes (finished) WHERE finished IS NOT NULL",
    "CREATE INDEX leftovers_by_target ON leftovers (target)",
    "CREATE INDEX leases_by_expiry ON leases (expires)",
    "CREATE INDEX events_by_time ON events (at)",
    "CREATE INDEX windows_by_finish ON windows (finished)",
)
"""For frequent queries of unfinished rows, where nearly everything is finished, and for finding old rows."""


def apply(connection: Connection) -> None:
    """Add what the first release did not have."""
    for statement in (*PRESENCE, *LEDGER, *INDEXES):
        connection.execute(text(statement))
