"""Reads the records of runs. A run that is recorded as `running`, but whose lease nobody holds, reads as dead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Row, Select, and_, case, func, or_, select

from catchment.run_model import Backfill, Choices, InputResult, OutputResult, RunRequest, snapshot_name
from catchment.store.database import Database, database_time
from catchment.store.leases import is_held, process_of
from catchment.store.records import AttemptRecord, JobRecord, RunRecord
from catchment.store.schema import attempts, definitions, inputs, jobs, leases, outputs, runs


def lease_name(run_id: str) -> str:
    """The lease that the process executing a run holds."""
    return f"run/{run_id}"


class Runs:
    """Runs, jobs, attempts, outputs and inputs, for reading."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def newest(self, limit: int) -> list[RunRecord]:
        """The last runs, newest first."""
        query = _runs().order_by(runs.c.started.desc(), runs.c.id.desc()).limit(limit)
        with self._database.reading() as connection:
            return [_run(row) for row in connection.execute(query)]

    def find(self, run_id: str) -> RunRecord | None:
        """One run; None if there is no such run."""
        with self._database.reading() as connection:
            row = connection.execute(_runs().where(runs.c.id == run_id)).one_or_none()
        return _run(row) if row else None

    def datasets(self, beginning: str, limit: int) -> list[str]:
        """The addresses that jobs have written and that begin with a prefix."""
        query = select(outputs.c.dataset).where(outputs.c.dataset.startswith(beginning, autoescape=True)).distinct()
        with self._database.reading() as connection:
            return list(connection.scalars(query.order_by(outputs.c.dataset).limit(limit)))

    def newest_of(self, workflow: str) -> str | None:
        """The newest run of a workflow whose definition was recorded; None if there is none."""
        known = runs.c.workflow == workflow, runs.c.definition.is_not(None)
        query = select(runs.c.id).where(*known).order_by(runs.c.started.desc(), runs.c.id.desc()).limit(1)
        with self._database.reading() as connection:
            return connection.scalar(query)

    def definition(self, run_id: str) -> Mapping[str, Any] | None:
        """The definition of the workflow of a run; None if it was not recorded."""
        query = select(definitions.c.content).select_from(definitions.join(runs, runs.c.definition == definitions.c.id))
        with self._database.reading() as connection:
            return connection.scalar(query.where(runs.c.id == run_id))

    def jobs(self, run_id: str) -> list[JobRecord]:
        """The jobs of a run in the order of its plan."""
        with self._database.reading() as connection:
            rows = connection.execute(select(jobs).where(jobs.c.run_id == run_id).order_by(jobs.c.position)).all()
            written = connection.execute(
                select(outputs).where(outputs.c.run_id == run_id).order_by(outputs.c.position)
            ).all()
            read = connection.execute(select(inputs).where(inputs.c.run_id == run_id).order_by(inputs.c.position)).all()
        return [_job(row, written, read) for row in rows]

    def attempts(self, run_id: str) -> list[AttemptRecord]:
        """Every attempt of a run, in the order in which they began."""
        query = select(attempts).where(attempts.c.run_id == run_id).order_by(attempts.c.started, attempts.c.number)
        with self._database.reading() as connection:
            return [_attempt(row) for row in connection.execute(query)]


_CHOSEN = (runs.c.environment, runs.c.variables, runs.c.selected, runs.c.excluded, runs.c.left_out)


def _runs() -> Select[Any]:
    held = func.coalesce(is_held(leases), False)
    lost = and_(runs.c.status == "running", ~held)
    in_time = or_(runs.c.status != "running", held)
    of_run = jobs.c.run_id == runs.c.id
    return select(
        runs.c.id,
        runs.c.workflow,
        runs.c.file,
        case((in_time, runs.c.status), else_="dead").label("status"),
        runs.c.reference_time,
        runs.c.started,
        runs.c.resumed,
        runs.c.windows,
        runs.c.backfill_first,
        runs.c.backfill_last,
        *_CHOSEN,
        case(
            (lost, func.coalesce(func.nullif(leases.c.expires, 0.0), runs.c.started)),
            else_=func.coalesce(runs.c.finished, database_time()),
        ).label("ended"),
        select(func.count()).select_from(jobs).where(of_run).scalar_subquery().label("jobs"),
        select(func.count())
        .select_from(jobs)
        .where(of_run, jobs.c.status == "succeeded")
        .scalar_subquery()
        .label("succeeded"),
        leases.c.machine,
        leases.c.pid,
        leases.c.born,
    ).select_from(runs.outerjoin(leases, leases.c.name == lease_name("") + runs.c.id))


def _run(row: Row[Any]) -> RunRecord:
    columns = dict(row._mapping)
    for name in ("machine", "pid", "born", *(each.name for each in _CHOSEN)):
        del columns[name]
    first, last = columns.pop("backfill_first"), columns.pop("backfill_last")
    backfill = Backfill(first, last) if first is not None else None
    request = RunRequest(columns.pop("reference_time"), columns.pop("windows"), backfill)
    return RunRecord(**columns, request=request, choices=_choices(row), process=process_of(row))


def _choices(row: Row[Any]) -> Choices:
    lists = (tuple(each or ()) for each in (row.selected, row.excluded, row.left_out))
    selected, excluded, left_out = lists
    return Choices(row.variables or {}, selected, excluded, row.environment, left_out)


def _job(row: Row[Any], written: Iterable[Row[Any]], read: Iterable[Row[Any]]) -> JobRecord:
    outputs = tuple(_output(each) for each in written if each.job == row.name)
    inputs = tuple(InputResult(each.name, each.dataset, each.bad_rows) for each in read if each.job == row.name)
    waited = row.engine_seconds or 0.0
    return JobRecord(row.name, row.status, row.attempts, row.started, row.finished, row.error, outputs, inputs, waited)


def _output(row: Row[Any]) -> OutputResult:
    snapshot = snapshot_name(row.snapshot_id)
    return OutputResult(row.name, row.dataset, row.rows_written, row.files_written, snapshot, row.write_id)


def _attempt(row: Row[Any]) -> AttemptRecord:
    return AttemptRecord(row.job, row.number, row.engine, row.status, row.started, row.finished, row.error)
