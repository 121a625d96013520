"""Removes old records in small transactions: writes, windows, events, services and dead leases.

Nothing that is unfinished or set aside is removed, and no write whose fate is unknown. A committed write leaves a short
record that tells later attempts that it was committed, and where.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, func, insert, or_, select, tuple_

from catchment.errors import EngineLost
from catchment.store import statements
from catchment.store.database import Database, now, repeatable
from catchment.store.engines import PREFIX
from catchment.store.runs import lease_name
from catchment.store.schema import (
    UNFINISHED,
    done,
    engines,
    events,
    jobs,
    leases,
    runs,
    services,
    window_runs,
    windows,
    writes,
)
from catchment.store.services import PREFIX as SERVICE_PREFIX
from catchment.store.writes import FATE_UNKNOWN, Base, Contents, Entry, Intent

BATCH = 500
"""The most rows that are removed in one transaction."""
DAY_SECONDS = 86400.0


class Pruning:
    """Removes old records, one batch at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeatable
    def prune(self, days: float, limit: int = BATCH) -> int:
        """Remove one batch of each kind of record that ended more than `days` ago; returns the number of rows."""
        steps = self._writes, self._windows, self._events, self._services, self._leases
        return sum(step(days, limit) for step in steps)

    def _writes(self, days: float, limit: int) -> int:
        with self._database.writing() as connection:
            old = connection.execute(_old_writes(_before(connection, days)).limit(limit)).all()
            ids = [row.write_id for row in old]
            kept = [_kept(row) for row in old if row.state == "committed"]
            # Only for committed writes: an abandoned one may have been committed to another table before.
            connection.execute(delete(done).where(done.c.write_id.in_([row["write_id"] for row in kept])))
            if kept:
                connection.execute(insert(done), kept)
            connection.execute(delete(writes).where(writes.c.write_id.in_(ids)))
        return len(ids)

    def _windows(self, days: float, limit: int) -> int:
        key = windows.c.workflow, windows.c.job, windows.c.number
        with self._database.writing() as connection:
            old = connection.execute(_old_windows(_before(connection, days)).limit(limit)).all()
            connection.execute(delete(windows).where(tuple_(*key).in_([tuple(row) for row in old])))
        return len(old)

    def _events(self, days: float, limit: int) -> int:
        key = events.c.run_id, events.c.number
        with self._database.writing() as connection:
            before = _before(connection, days)
            # A dead run keeps the status `running` forever; its lease tells when it was last heard from.
            heard = select(leases.c.name).where(leases.c.name == _of_run(runs.c.id), leases.c.expires >= before)
            over = or_(runs.c.status != "running", ~heard.exists())
            of_ended = events.join(runs, and_(runs.c.id == events.c.run_id, over))
            old = select(*key).select_from(of_ended).where(events.c.at < before).order_by(events.c.at)
            found = connection.execute(old.limit(limit)).all()
            connection.execute(delete(events).where(tuple_(*key).in_([tuple(row) for row in found])))
        return len(found)

    def _services(self, days: float, limit: int) -> int:
        """Remove services that ended or died long ago."""
        with self._database.writing() as connection:
            before = _before(connection, days)
            heard = select(leases.c.name).where(leases.c.name == _of_service(), leases.c.expires >= before)
            ended = func.coalesce(services.c.finished, services.c.started) < before
            old = connection.scalars(select(services.c.name).where(ended, ~heard.exists()).limit(limit)).all()
            connection.execute(delete(services).where(services.c.name.in_(old)))
        return len(old)

    def _leases(self, days: float, limit: int) -> int:
        """Remove leases of lost engines and schedulers, of runs that ended or died long ago, and of unlisted services.

        The holders of these have unique names, so a fence that starts again cannot admit an earlier holder. The leases
        of tables and jobs stay: their holders come back under the same name, and their fences must only ever grow.
        """
        with self._database.writing() as connection:
            day, before = _before(connection, 1), _before(connection, days)
            succeeded = select(runs.c.id).where(leases.c.name == _of_run(runs.c.id), runs.c.status == "succeeded")
            of_engine = or_(leases.c.name.startswith(PREFIX), leases.c.name.startswith("scheduler/"))
            once = and_(or_(of_engine, succeeded.exists()), leases.c.expires < day)
            ended = and_(leases.c.name.startswith(lease_name("")), leases.c.expires < before)
            listed = select(services.c.name).where(leases.c.name == _of_service())
            unlisted = and_(leases.c.name.startswith(SERVICE_PREFIX), leases.c.expires < day, ~listed.exists())
            gone = select(leases.c.name).where(or_(once, ended, unlisted))
            unneeded = gone.where(leases.c.name.not_in(select(writes.c.owner).where(UNFINISHED)))
            names = connection.scalars(unneeded.limit(limit)).all()
            connection.execute(delete(leases).where(leases.c.name.in_(names)))
            connection.execute(delete(engines).where(engines.c.name.in_(names)))
        return len(names)


def _of_run(run_id: ColumnElement[str]) -> ColumnElement[str]:
    return lease_name("") + run_id


def _of_service() -> ColumnElement[str]:
    return SERVICE_PREFIX + services.c.name


def find_done(connection: Connection, write_id: str) -> Entry | None:
    """A write that was committed and pruned, with the little that is still known of it."""
    row = connection.execute(statements.FIND_DONE, {"id": write_id}).one_or_none()
    if row is None:
        return None
    base = Base("", 0, 0, None)
    intent = Intent(write_id, "", row.target, row.branch, "append", "last-wins", "", "", base, {}, buffered=False)
    contents = Contents((), row.rows_written, row.bytes_written, row.files_written)
    return Entry(intent, "committed", tried=True, contents=contents, snapshot_id=row.snapshot_id, error=None)


def _before(connection: Connection, days: float) -> float:
    return now(connection) - days * DAY_SECONDS


def _old_writes(before: float) -> Select[Any]:
    code = writes.c.error["code"].as_string()
    known = or_(code.is_(None), code != FATE_UNKNOWN)
    # A write that its format commits itself may be in the log although its engine was lost. Its row stays, because it
    # says since when to search the log.
    failed = or_(writes.c.buffered, code != EngineLost.code, writes.c.mode == "maintain")
    given_up = and_(writes.c.state == "abandoned", known, failed)
    columns = writes.c.write_id, writes.c.state, writes.c.target, writes.c.branch, writes.c.snapshot_id
    numbers = writes.c.rows_written, writes.c.bytes_written, writes.c.files_written
    old = select(*columns, *numbers).where(writes.c.finished < before, or_(writes.c.state == "committed", given_up))
    return old.order_by(writes.c.finished).with_for_update(skip_locked=True)


def _kept(row: Row[Any]) -> dict[str, Any]:
    kept = {key: value for key, value in row._mapping.items() if key != "state"}
    return {key: 0 if value is None and key.endswith("_written") else value for key, value in kept.items()}


def _old_windows(before: float) -> Select[Any]:
    """Done windows that no run will need again; the newest of each job stays, to number the next one."""
    newer = windows.alias("newer")
    same_job = newer.c.workflow == windows.c.workflow, newer.c.job == windows.c.job
    newest = select(func.max(newer.c.number)).where(*same_job).scalar_subquery()
    of_window = (
        window_runs.c.workflow == windows.c.workflow,
        window_runs.c.job == windows.c.job,
        window_runs.c.number == windows.c.number,
    )
    worked_on = window_runs.join(runs, runs.c.id == window_runs.c.run_id)
    # A resumed run does not run its succeeded jobs again.
    job_done = select(jobs.c.name).where(
        jobs.c.run_id == runs.c.id, jobs.c.name == windows.c.job, jobs.c.status == "succeeded"
    )
    may_ask = runs.c.status != "succeeded", ~job_done.exists()
    asked_for = select(runs.c.id).select_from(worked_on).where(*of_window, *may_ask).exists()
    over = windows.c.status == "done", windows.c.finished < before, windows.c.number < newest, ~asked_for
    return select(windows.c.workflow, windows.c.job, windows.c.number).where(*over).order_by(windows.c.finished)
