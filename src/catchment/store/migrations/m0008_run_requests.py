"""What a run is asked for, and who executes it."""

from __future__ import annotations

from sqlalchemy import Connection, text

LEASES = (
    "ALTER TABLE leases ADD COLUMN machine TEXT",
    "ALTER TABLE leases ADD COLUMN pid INTEGER",
    "ALTER TABLE leases ADD COLUMN born BIGINT",
)
"""The process of a lease's holder, so that others on its machine see when it has died."""

JOBS = ("ALTER TABLE jobs ADD COLUMN engine_seconds DOUBLE PRECISION",)
"""How long a job waited for its engine to start, which is not part of its own time."""

RUNS = (
    "ALTER TABLE runs ADD COLUMN environment TEXT",
    "ALTER TABLE runs ADD COLUMN variables JSON",
    "ALTER TABLE runs ADD COLUMN selected JSON",
    "ALTER TABLE runs ADD COLUMN excluded JSON",
    "ALTER TABLE runs ADD COLUMN left_out JSON",
    "ALTER TABLE runs ADD COLUMN definition TEXT",
    "CREATE TABLE definitions (id TEXT PRIMARY KEY, content JSON NOT NULL)",
)
"""What is run of the workflow, with which values, and what the workflow said: once for all runs of the same text."""

SERVICES = ("ALTER TABLE services ADD COLUMN reported BOOLEAN NOT NULL DEFAULT FALSE",)
"""Whether somebody has told people that the service has died."""


def apply(connection: Connection) -> None:
    """Add the columns."""
    for statement in (*LEASES, *JOBS, *RUNS, *SERVICES):
        connection.execute(text(statement))
