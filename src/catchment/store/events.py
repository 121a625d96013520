"""The events of each run. They are already redacted when they come here."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, Select, insert, select

from catchment.store.database import Database, repeatable
from catchment.store.leases import Lease, Leases
from catchment.store.records import EventRecord
from catchment.store.schema import events


class Events:
    """Append and read the events of runs."""

    def __init__(self, database: Database, leases: Leases) -> None:
        self._database = database
        self._leases = leases

    @repeatable
    def append(self, lease: Lease, run_id: str, event: EventRecord) -> None:
        """Append an event, unless it is the last one already: a repeated step may have succeeded before."""
        with self._leases.holding(lease) as connection:
            last = connection.execute(_of(run_id).order_by(events.c.number.desc()).limit(1)).one_or_none()
            if last is None or _identity(_record(last)) != _identity(event):
                number = last.number + 1 if last else 1
                connection.execute(insert(events).values(run_id=run_id, number=number, **vars(event)))

    def of_run(self, run_id: str) -> list[EventRecord]:
        """Every event of a run, in order."""
        with self._database.reading() as connection:
            return [_record(row) for row in connection.execute(_of(run_id).order_by(events.c.number))]


def _of(run_id: str) -> Select[Any]:
    return select(events).where(events.c.run_id == run_id)


def _identity(event: EventRecord) -> tuple[object, ...]:
    """What identifies an event within a run. Not its data, which may come back from JSON in another form."""
    return event.at, event.kind, event.job, event.attempt


def _record(row: Row[Any]) -> EventRecord:
    return EventRecord(row.at, row.kind, row.job, row.attempt, row.engine, row.data)
