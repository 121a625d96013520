"""What was requested of a run, and which process executes it."""

from __future__ import annotations

from sqlalchemy import Connection, text

LEASES = (
    "ALTER TABLE leases ADD COLUMN machine TEXT",
    "ALTER TABLE leases ADD COLUMN pid INTEGER",
    "ALTER TABLE leases ADD COLUMN born BIGINT",
)
"""The process of a lease's holder, so that others on its machine can see that it has died."""

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
"""Which part of the workflow is run, with which values; and its definition, once for all runs that share it."""

SERVICES = ("ALTER TABLE services ADD COLUMN reported BOOLEAN NOT NULL DEFAULT FALSE",)
"""Whether the death of the service was reported."""


def apply(connection: Connection) -> None:
    """Add the columns."""
    for statement in (*LEASES, *JOBS, *RUNS, *SERVICES):
        connection.execute(text(statement))
