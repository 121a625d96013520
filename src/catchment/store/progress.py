"""Records the progress of a run. Every write checks the run's lease: a run that was taken over cannot write.

Each step may be repeated: a patient run waits for a metastore that does not answer, and an answer may be lost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from catchment.run_model import Choices, InputResult, OutputResult, RunRequest
from catchment.store.database import Database, insert_missing, repeatable
from catchment.store.leases import Lease, Leases
from catchment.store.schema import attempts, definitions, inputs, jobs, outputs, runs

_QUEUED_AGAIN = {"status": "queued", "started": None, "finished": None, "engine_seconds": None, "error": None}


class Progress:
    """Records one run, under the run's lease."""

    def __init__(self, database: Database, leases: Leases, lease: Lease, run_id: str) -> None:
        self._database = database
        self._leases = leases
        self._lease = lease
        self._run_id = run_id

    @repeatable
    def begin(
        self,
        request: RunRequest,
        *,
        workflow: str,
        file: str,
        job_names: Sequence[str],
        at: float,
        choices: Choices | None = None,
        definition: Mapping[str, Any] | None = None,
    ) -> None:
        """Record that the run begins: its row and one for each of its jobs."""
        asked: dict[str, Any] = {"reference_time": request.reference_time, "windows": request.windows}
        if request.backfill:
            asked |= {"backfill_first": request.backfill.first, "backfill_last": request.backfill.last}
        row = {"workflow": workflow, "file": file, "started": at, **_chosen(choices or Choices())}
        with self._leases.holding(self._lease) as connection:
            said = _recorded(connection, definition)
            insert_missing(connection, runs, {"id": self._run_id, "status": "running", **row, **asked, **said})
            self._queue(connection, job_names)

    @repeatable
    def take_up(
        self,
        *,
        job_names: Sequence[str],
        at: float,
        choices: Choices | None = None,
        definition: Mapping[str, Any] | None = None,
    ) -> None:
        """Record that the run is resumed: jobs that did not succeed are queued again, under the current plan."""
        now = {"status": "running", "resumed": at, "finished": None, **(_chosen(choices) if choices else {})}
        with self._leases.holding(self._lease) as connection:
            now |= _recorded(connection, definition)
            connection.execute(update(runs).where(runs.c.id == self._run_id).values(now))
            unfinished = (jobs.c.run_id == self._run_id, jobs.c.status != "succeeded")
            connection.execute(delete(jobs).where(*unfinished, jobs.c.name.not_in(job_names)))
            connection.execute(update(jobs).where(*unfinished).values(_QUEUED_AGAIN))
            self._close_attempts(connection, "lost", at)
            self._queue(connection, job_names)

    @repeatable
    def attempt_begins(self, job: str, number: int, engine: str, at: float) -> None:
        """Record that an attempt of a job begins."""
        row = {"run_id": self._run_id, "job": job, "number": number, "engine": engine}
        with self._leases.holding(self._lease) as connection:
            insert_missing(connection, attempts, {"status": "running", "started": at, **row})
            connection.execute(
                update(jobs)
                .where(*self._job(job))
                .values(status="running", attempts=number, started=func.coalesce(jobs.c.started, at))
            )

    @repeatable
    def attempt_fails(self, job: str, number: int, error: Mapping[str, Any], at: float) -> None:
        """Record that an attempt failed and that the job will be tried again."""
        with self._leases.holding(self._lease) as connection:
            self._end_attempt(connection, job, number, "failed", error, at)

    @repeatable
    def job_ends(
        self,
        job: str,
        number: int,
        status: str,
        *,
        at: float,
        engine_seconds: float = 0.0,
        error: Mapping[str, Any] | None = None,
        written: Iterable[OutputResult] = (),
        read: Iterable[InputResult] = (),
    ) -> None:
        """Record the end of a job; `number` is its last attempt, 0 if it never had one.

        `engine_seconds` is how long it waited for its engine to start.
        """
        with self._leases.holding(self._lease) as connection:
            self._end_attempt(connection, job, number, status, error, at)
            ended = {"status": status, "finished": at, "error": error, "engine_seconds": engine_seconds}
            connection.execute(update(jobs).where(*self._job(job)).values(ended))
            for position, output in enumerate(written):
                insert_missing(connection, outputs, self._output(job, position, output))
            for position, source in enumerate(read):
                row = {"run_id": self._run_id, "job": job, "position": position, **asdict(source)}
                insert_missing(connection, inputs, row)

    @repeatable
    def finish(self, status: str, at: float) -> None:
        """Record the end of the run."""
        with self._leases.holding(self._lease) as connection:
            connection.execute(update(runs).where(runs.c.id == self._run_id).values(status=status, finished=at))

    def _queue(self, connection: Connection, names: Sequence[str]) -> None:
        known = connection.scalars(select(jobs.c.name).where(jobs.c.run_id == self._run_id)).all()
        for position, name in enumerate(names):
            if name in known:
                connection.execute(update(jobs).where(*self._job(name)).values(position=position))
        fresh = [
            {"run_id": self._run_id, "name": name, "position": position, "status": "queued", "attempts": 0}
            for position, name in enumerate(names)
            if name not in known
        ]
        if fresh:
            connection.execute(insert(jobs), fresh)

    def _end_attempt(
        self, connection: Connection, job: str, number: int, status: str, error: Mapping[str, Any] | None, at: float
    ) -> None:
        this = (attempts.c.run_id == self._run_id, attempts.c.job == job, attempts.c.number == number)
        open_ = (*this, attempts.c.finished.is_(None))
        connection.execute(update(attempts).where(*open_).values(status=status, finished=at, error=error))

    def _close_attempts(self, connection: Connection, status: str, at: float) -> None:
        left = (attempts.c.run_id == self._run_id, attempts.c.finished.is_(None))
        connection.execute(update(attempts).where(*left).values(status=status, finished=at))

    def _job(self, name: str) -> tuple[Any, ...]:
        return jobs.c.run_id == self._run_id, jobs.c.name == name

    def _output(self, job: str, position: int, output: OutputResult) -> dict[str, Any]:
        return {
            "run_id": self._run_id,
            "job": job,
            "name": output.name,
            "position": position,
            "dataset": output.dataset,
            "write_id": output.write_id,
            "rows_written": output.rows,
            "files_written": output.files,
            "snapshot_id": None if output.snapshot_id is None else int(output.snapshot_id),
        }


def _chosen(choices: Choices) -> dict[str, Any]:
    return {
        "environment": choices.environment,
        "variables": dict(choices.variables),
        "selected": list(choices.select),
        "excluded": list(choices.exclude),
        "left_out": list(choices.left_out),
    }


def _recorded(connection: Connection, definition: Mapping[str, Any] | None) -> dict[str, Any]:
    """Record the definition of a workflow, unless another run has recorded the same one."""
    if not definition:
        return {}
    text = json.dumps(definition)
    known = hashlib.sha256(text.encode()).hexdigest()
    insert_missing(connection, definitions, {"id": known, "content": definition})
    return {"definition": known}
