"""The story of each run, event by event. What is given here is already redacted."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, func, insert, select

from catchment.store.database import Database
from catchment.store.leases import Lease, Leases
from catchment.store.records import EventRecord
from catchment.store.schema import events


class Events:
    """Append and read the events of runs."""

    def __init__(self, database: Database, leases: Leases) -> None:
        self._database = database
        self._leases = leases

    def append(self, lease: Lease, run_id: str, story: Iterable[EventRecord]) -> None:
        """Add events after those that are there, in order, in one transaction."""
        with self._leases.holding(lease) as connection:
            first = _count(connection, run_id) + 1
            rows = [{"run_id": run_id, "number": n, **vars(record)} for n, record in enumerate(story, first)]
            if rows:
                connection.execute(insert(events), rows)

    def of_run(self, run_id: str) -> list[EventRecord]:
        """Every event of a run, in order."""
        query = select(events).where(events.c.run_id == run_id).order_by(events.c.number)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return [EventRecord(row.at, row.kind, row.job, row.attempt, row.engine, row.data) for row in rows]


def _count(connection: Connection, run_id: str) -> int:
    return connection.scalar(select(func.max(events.c.number)).where(events.c.run_id == run_id)) or 0
