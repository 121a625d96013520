"""The metastore as the first release creates it. Times are seconds since 1970, UTC."""

from __future__ import annotations

from sqlalchemy import Connection, text

RUNS = (
    """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        workflow TEXT NOT NULL,
        file TEXT NOT NULL,
        status TEXT NOT NULL,
        reference_time TEXT NOT NULL,
        started DOUBLE PRECISION NOT NULL,
        resumed DOUBLE PRECISION,
        finished DOUBLE PRECISION,
        windows INTEGER NOT NULL DEFAULT 1,
        backfill_first TEXT,
        backfill_last TEXT
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
"""Runs, their jobs, attempts and outputs, and the events of each run."""

PRESENCE = (
    """
    CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        owner TEXT,
        fence BIGINT NOT NULL,
        expires DOUBLE PRECISION NOT NULL
    )
    """,
    """
    CREATE TABLE readers (
        name TEXT PRIMARY KEY,
        since DOUBLE PRECISION NOT NULL,
        expires DOUBLE PRECISION NOT NULL
    )
    """,
)
"""Leases, and the readers of the lake: both expire by themselves."""

LEDGER = (
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
        buffered BOOLEAN NOT NULL,
        place TEXT,
        dataset JSON NOT NULL,
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
        error JSON,
        inputs JSON
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
        target TEXT NOT NULL,
        dataset JSON NOT NULL
    )
    """,
    """
    CREATE TABLE publications (
        target TEXT NOT NULL,
        number BIGINT NOT NULL,
        id TEXT NOT NULL,
        catalog TEXT NOT NULL,
        file TEXT NOT NULL,
        file_before TEXT,
        snapshot_id BIGINT,
        at DOUBLE PRECISION NOT NULL,
        by_whom TEXT NOT NULL,
        run_id TEXT,
        job TEXT,
        PRIMARY KEY (target, number)
    )
    """,
)
"""Writes and what became of them, the last seal number of each table, buffers to remove, and publications."""

STATES = (
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
        engine TEXT,
        backfill_first TEXT,
        backfill_last TEXT,
        person TEXT,
        outputs JSON,
        PRIMARY KEY (workflow, job, number)
    )
    """,
    "CREATE INDEX windows_by_status ON windows (workflow, job, status)",
    """
    CREATE TABLE window_runs (
        workflow TEXT NOT NULL,
        job TEXT NOT NULL,
        number BIGINT NOT NULL,
        run_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (workflow, job, number, run_id),
        FOREIGN KEY (workflow, job, number) REFERENCES windows (workflow, job, number) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX window_runs_by_run ON window_runs (workflow, job, run_id)",
)
"""Incremental state, the windows that moved it, and the runs that worked on each window."""

SCHEDULES = (
    """
    CREATE TABLE schedules (
        workflow TEXT PRIMARY KEY,
        rule TEXT NOT NULL,
        decided DOUBLE PRECISION NOT NULL
    )
    """,
    """
    CREATE TABLE ticks (
        workflow TEXT NOT NULL,
        tick DOUBLE PRECISION NOT NULL,
        owner TEXT NOT NULL,
        run_id TEXT,
        tries INTEGER NOT NULL,
        claimed DOUBLE PRECISION NOT NULL,
        asked TEXT,
        outcome TEXT,
        reason TEXT,
        error JSON,
        PRIMARY KEY (workflow, tick)
    )
    """,
    "CREATE INDEX ticks_by_time ON ticks (tick)",
)
"""The time up to which the ticks of each workflow are decided, and what became of those that were claimed."""


def apply(connection: Connection) -> None:
    """Create every table."""
    for statement in (*RUNS, *PRESENCE, *LEDGER, *STATES, *SCHEDULES):
        connection.execute(text(statement))
