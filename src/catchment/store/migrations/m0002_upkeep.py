"""What keeps a metastore honest and quick for years."""

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
"""How long leases were given for; since when engines have been heard from without a gap, and when last: one row."""

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
"""What stays of a committed write when its row is removed: later attempts must know it."""

INDEXES = (
    "CREATE INDEX writes_unfinished ON writes (target) WHERE state IN ('open', 'sealed')",
    "CREATE INDEX writes_by_finish ON writes (finished) WHERE finished IS NOT NULL",
    "CREATE INDEX leftovers_by_target ON leftovers (target)",
    "CREATE INDEX leases_by_expiry ON leases (expires)",
    "CREATE INDEX events_by_time ON events (at)",
    "CREATE INDEX windows_by_finish ON windows (finished)",
)
"""What is asked often, where nearly everything is finished; and what is old."""


def apply(connection: Connection) -> None:
    """Add what the first release did not have."""
    for statement in (*PRESENCE, *LEDGER, *INDEXES):
        connection.execute(text(statement))
