"""The record of publications. The published catalog is the truth; this records who moved its pointers, and when."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from catchment.store.database import Database, database_time, insert_missing, repeatable
from catchment.store.schema import publications


@dataclass(frozen=True)
class Publication:
    """One change of the version that the readers of a table see."""

    target: str
    """The table's address."""
    catalog: str
    file: str
    """The metadata file that readers see from now on."""
    before: str | None
    """The metadata file that readers saw before; None for the first publication."""
    snapshot_id: int | None
    by: str
    run_id: str | None = None
    job: str | None = None
    at: float | None = None
    """Seconds since 1970, once it is recorded."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex, compare=False)
    """Stays the same if the step is repeated because its answer was lost."""


class Publications:
    """Record and read publications; may be used from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeatable
    def record(self, made: Publication) -> None:
        """Record a publication that was made. May be repeated if the answer was lost."""
        with self._database.writing() as connection:
            number = _next(connection, made.target)
            while not (_count(connection, publications.c.id == made.id) or _insert(connection, made, number)):
                number = _next(connection, made.target)

    @repeatable
    def record_missing(self, seen: Publication) -> bool:
        """Record a publication whose process died before it recorded it; returns whether it was missing."""
        with self._database.writing() as connection:
            # The number is read first: a process that records this publication after our check takes that number.
            number = _next(connection, seen.target)
            while not _is_known(connection, seen):
                if _insert(connection, seen, number):
                    return True
                number = _next(connection, seen.target)
            return False

    @repeatable
    def of_table(self, target: str) -> tuple[Publication, ...]:
        """All publications of a table, oldest first."""
        found = select(publications).where(publications.c.target == target).order_by(publications.c.number)
        with self._database.reading() as connection:
            return tuple(
                Publication(
                    *(row.target, row.catalog, row.file, row.file_before, row.snapshot_id, row.by_whom),
                    *(row.run_id, row.job, row.at, row.id),
                )
                for row in connection.execute(found)
            )


def _is_known(connection: Connection, seen: Publication) -> bool:
    """Whether the file was published more often than it was replaced, in whatever order that was recorded."""
    here = (publications.c.target == seen.target, publications.c.catalog == seen.catalog)
    came = _count(connection, *here, publications.c.file == seen.file)
    return came > _count(connection, *here, publications.c.file_before == seen.file)


def _count(connection: Connection, *where: ColumnElement[bool]) -> int:
    return connection.scalar(select(func.count()).select_from(publications).where(*where)) or 0


def _next(connection: Connection, target: str) -> int:
    """The number after the highest one."""
    last = select(func.max(publications.c.number)).where(publications.c.target == target)
    return (connection.scalar(last) or 0) + 1


def _insert(connection: Connection, made: Publication, number: int) -> bool:
    """Insert it under this number; False if another publication took the number."""
    row: dict[str, Any] = {
        "target": made.target,
        "number": number,
        "id": made.id,
        "catalog": made.catalog,
        "file": made.file,
        "file_before": made.before,
        "snapshot_id": made.snapshot_id,
        "at": database_time(),
        "by_whom": made.by,
        "run_id": made.run_id,
        "job": made.job,
    }
    return insert_missing(connection, publications, row)
