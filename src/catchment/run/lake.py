"""Questions about the lake, answered by an engine that lives no longer than they take."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
import time
from collections.abc import Collection, Generator, Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

from pydantic import TypeAdapter

from catchment import private_files
from catchment.engine.protocol import (
    AskHealth,
    Cancel,
    Change,
    DropTable,
    Facts,
    Failed,
    Inspect,
    Maintain,
    Note,
    Preparing,
    Ready,
    Recover,
    Reply,
    Rows,
    RunQuery,
    TryJobs,
)
from catchment.errors import CatchmentError, EngineLost, RequestError, Retryable, SetupError
from catchment.plan.engines import reading_engine
from catchment.plan.fitting import choose_reader
from catchment.plan.model import ChangePlan, Dataset, EnginePlan, JobPlan, Maintenance
from catchment.plan.sql_depots import depots_in
from catchment.project import depots
from catchment.project.model import Address, Project
from catchment.project.secrets import Redactor
from catchment.run.engine_pool import Launch
from catchment.run.inspection import Tell as Tell
from catchment.run.inspection import What, asked_about
from catchment.run.query_result import QueryResult
from catchment.run.residents.choosing import launching
from catchment.run_model import RunRequest
from catchment.table_health import TableHealth

QUESTION = "question"
STOP_SECONDS = 5.0

Answer = TypeVar("Answer", Ready, Rows, Facts)
_HEALTH = TypeAdapter(TableHealth)


class LakeSession:
    """An engine that answers questions about the lake, from `with` to its end. One question at a time."""

    def __init__(
        self,
        project: Project,
        *,
        engine: str | None = None,
        tables: Collection[str] = (),
        files: Collection[str] = (),
        planned: EnginePlan | None = None,
        tell: Tell = lambda _: None,
        launch: Launch | None = None,
    ) -> None:
        """Without a name, the engine is one that fits the depots in question, unless it is `planned` already.

        `tables` names those whose tables are meant. `files` names those whose files are to be reached, too.
        """
        self._project, self._tell, self._launch = project, tell, launch or launching(project)
        self._reason: str | None = None
        if planned is None:
            choice = choose_reader(project, engine, {*tables, *files})
            planned, self._reason = reading_engine(project, choice.engine, files), choice.reason
        self._plan = planned
        self._inbox: SimpleQueue[Reply | EngineLost] = SimpleQueue()
        self._numbers, self._asked = itertools.count(1), QUESTION

    def __enter__(self) -> LakeSession:
        if self._reason:
            self._tell(f"on engine {self._plan.key}: {self._reason}")
        self._log_dir = _log_directory(self._project)
        self._process = self._launch(
            self._plan,
            log_dir=self._log_dir,
            secrets=self._project.secrets,
            inbox=lambda _, reply: self._inbox.put(reply),
        )
        try:
            self._await(Ready)
        except BaseException:
            self._process.kill()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None or isinstance(error, GeneratorExit):  # whoever watches has seen enough
            self._process.stop(STOP_SECONDS)
            shutil.rmtree(self._log_dir, ignore_errors=True)
        else:
            self._process.kill()  # its log stays: it may have something to explain

    def query(self, sql: str, *, limit: int | None = None, published: bool = False, write: bool = False) -> QueryResult:
        """The rows of a SQL query over `depot.collection.table`; with `published`, over what was published of them.

        With `write`, the statement may be more than a query.
        """
        self._process.send(RunQuery(self._next(), sql, limit, published, write))
        messages = [self._await(Rows)]
        while messages[-1].more:
            messages.append(self._await(Rows))
        last = messages[-1]
        texts = tuple(row for message in messages for row in message.rows)
        return QueryResult(last.columns, last.types, texts, last.truncated)

    def try_jobs(
        self, jobs: Sequence[JobPlan], workflow: str, request: RunRequest, *, sample: int | None, rows: int
    ) -> Mapping[str, Any]:
        """Run jobs up to their outputs, on a sample of their inputs or without data, and write nothing."""
        self._process.send(TryJobs(self._next(), tuple(jobs), workflow, request, sample, rows))
        return self._await(Facts).data

    def inspect(self, what: What, address: Address) -> Mapping[str, Any]:
        """Facts about a depot (`tables`) or a table."""
        depot = depots.find(self._project, address.depot)
        self._process.send(Inspect(self._next(), what, depot, asked_about(what, address, self._project)))
        return self._await(Facts).data

    def recover(self, tables: Sequence[Dataset], *, remove: bool) -> Mapping[str, Any]:
        """Finish or give up what writes have left unfinished in these tables."""
        self._process.send(Recover(self._next(), tuple(tables), remove))
        return self._await(Facts).data

    def change(self, change: ChangePlan, *, by: str, dry_run: bool) -> Mapping[str, Any]:
        """Change a table beside writing rows into it, or look what that would come to."""
        self._process.send(Change(self._next(), change, by, dry_run))
        return self._await(Facts).data

    def drop(self, table: Dataset, published: str | None, *, dry_run: bool) -> Mapping[str, Any]:
        """Drop a table with its files, or look what that would mean."""
        self._process.send(DropTable(self._next(), table, published, dry_run))
        return self._await(Facts).data

    def maintain(self, table: Dataset, operation: Maintenance, *, by: str, dry_run: bool) -> Mapping[str, Any]:
        """Look after a table, or look what that would mean."""
        self._process.send(Maintain(self._next(), table, operation, by, dry_run))
        return self._await(Facts).data

    def health(
        self, table: Dataset, small_file_bytes: int | None = None, known: str | None = None
    ) -> TableHealth | None:
        """How well the files of a table serve its readers; None if its newest commit is the known one."""
        self._process.send(AskHealth(self._next(), table, small_file_bytes, known))
        data = self._await(Facts).data
        return _HEALTH.validate_python(data) if data else None

    def cancel(self) -> None:
        """End the question that is being answered, which then fails with the code `cancelled`; also from a signal."""
        self._process.send(Cancel(self._asked))

    def _next(self) -> str:
        """The id of a new question: the engine may still be tidying up after the one before."""
        self._asked = f"{QUESTION}-{next(self._numbers)}"
        return self._asked

    def _await(self, answer: type[Answer]) -> Answer:
        while True:
            reply = self._inbox.get()
            if isinstance(reply, answer):
                return reply
            if isinstance(reply, Failed | EngineLost):
                raise _error(reply, Redactor(self._project.secrets))
            if isinstance(reply, Preparing):
                self._tell(reply.message)
            elif isinstance(reply, Note) and reply.event == "warning":
                self._tell(Redactor(self._project.secrets).text(f"warning: {reply.data['message']}"))


def query(
    project: Project,
    sql: str,
    *,
    limit: int | None,
    published: bool = False,
    write: bool = False,
    engine: str | None = None,
    tell: Tell = lambda _: None,
    launch: Launch | None = None,
) -> QueryResult:
    """The rows of one SQL query; `tell` hears what takes time. With `write`, it may be more than a query."""
    with LakeSession(project, engine=engine, tables=depots_in(sql, project), tell=tell, launch=launch) as reader:
        return reader.query(sql, limit=limit, published=published, write=write)


def watch(
    project: Project,
    sql: str,
    every: float,
    *,
    limit: int | None,
    published: bool = False,
    engine: str | None = None,
    tell: Tell = lambda _: None,
    launch: Launch | None = None,
) -> Generator[QueryResult, None, None]:
    """The rows of one SQL query again and again, with a pause of so many seconds between, by one engine."""
    with LakeSession(project, engine=engine, tables=depots_in(sql, project), tell=tell, launch=launch) as reader:
        while True:
            yield reader.query(sql, limit=limit, published=published)
            time.sleep(every)


def _log_directory(project: Project) -> Path:
    """A directory for the engine's log; it stays only where it has something to explain.

    A question creates nothing in a directory that is not a project yet, and a project may be read-only.
    """
    parent = project.home / "questions"
    if project.home.is_dir():
        with contextlib.suppress(OSError):
            private_files.make_directory(parent)
            return Path(tempfile.mkdtemp(prefix="", dir=parent))
    return Path(tempfile.mkdtemp(prefix="catchment-"))


def _error(failure: Failed | EngineLost, redactor: Redactor) -> CatchmentError:
    if isinstance(failure, EngineLost):
        kind: type[CatchmentError] = EngineLost
    elif failure.retryable:
        kind = Retryable
    else:
        kind = SetupError if failure.setup else RequestError
    message, hint, detail = redactor.data([failure.message, failure.hint, failure.detail])
    return kind(message, code=failure.code, hint=hint, where=failure.where, detail=detail)
