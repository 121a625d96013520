"""Questions about the lake, answered by an engine that lives no longer than they take."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
import time
from collections.abc import Collection, Generator, Mapping, Sequence
from pathlib import Path
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
    Rows,
    RunQuery,
    TryJobs,
    Work,
)
from catchment.errors import CatchmentError, EngineLost, JobError, RequestError, Retryable, SetupError
from catchment.plan.engines import reading_engine
from catchment.plan.fitting import choose_reader
from catchment.plan.model import ChangePlan, Dataset, EnginePlan, JobPlan, Maintenance, Partition
from catchment.plan.sql_depots import depots_in
from catchment.project import depots
from catchment.project.model import Address, Project
from catchment.project.secrets import Redactor
from catchment.run.engine_pool import Launch
from catchment.run.inspection import Tell as Tell
from catchment.run.inspection import What, asked_about
from catchment.run.query_result import QueryResult
from catchment.run.reply_queues import Replies, ReplyQueues
from catchment.run.residents.choosing import launching
from catchment.run_model import RunRequest
from catchment.table_health import TableHealth

QUESTION = "question"
STOP_SECONDS = 5.0
DAY_SECONDS = 86400.0

Answer = TypeVar("Answer", Ready, Rows, Facts)
Kind = type[CatchmentError]
_HEALTH = TypeAdapter(TableHealth)


class LakeSession:
    """An engine that answers questions about the lake, from `with` to its end.

    One question at a time, apart from `inspect_beside`.
    """

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
        self._replies = ReplyQueues()
        self._numbers, self._asked = itertools.count(1), QUESTION

    def __enter__(self) -> LakeSession:
        if self._reason:
            self._tell(f"on engine {self._plan.key}: {self._reason}")
        self._log_dir = _log_directory(self._project)
        with self._replies.replies_to(None) as replies:
            self._process = self._launch(
                self._plan,
                log_dir=self._log_dir,
                secrets=self._project.secrets,
                inbox=lambda _, reply: self._replies.deliver(reply),
            )
            try:
                self._await(replies, Ready)
            except BaseException:
                self._process.kill()
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None or isinstance(error, GeneratorExit):  # whoever watches has seen enough
            self._process.stop(STOP_SECONDS)
        else:
            self._process.kill()
        if not isinstance(error, EngineLost):  # its log explains what has happened
            shutil.rmtree(self._log_dir, ignore_errors=True)
        self._replies.deliver(EngineLost(f"engine {self._plan.key} was left before it had answered"))

    def query(self, sql: str, *, limit: int | None = None, published: bool = False, write: bool = False) -> QueryResult:
        """The rows of a SQL query over `depot.collection.table`; with `published`, over what was published of them.

        With `write`, the statement may be more than a query.
        """
        question = RunQuery(self._next(), sql, limit, published, write)
        with self._replies.replies_to(question.attempt) as replies:
            self._process.send(question)
            messages = [self._await(replies, Rows)]
            while messages[-1].more:
                messages.append(self._await(replies, Rows))
        last = messages[-1]
        texts = tuple(row for message in messages for row in message.rows)
        return QueryResult(last.columns, last.types, texts, last.truncated)

    def try_jobs(
        self, jobs: Sequence[JobPlan], workflow: str, request: RunRequest, *, sample: int | None, rows: int
    ) -> Mapping[str, Any]:
        """Run jobs up to their outputs, on a sample of their inputs or without data, and write nothing."""
        return self._facts(TryJobs(self._next(), tuple(jobs), workflow, request, sample, rows))

    def inspect(self, what: What, address: Address) -> Mapping[str, Any]:
        """Facts about a depot (`tables`) or a table."""
        return self._inspect(self._next(), what, address)

    def inspect_beside(self, what: What, address: Address) -> Mapping[str, Any]:
        """The same from any thread, while other questions are asked; `cancel` does not mean it."""
        return self._inspect(self._new_id(), what, address)

    def _inspect(self, question: str, what: What, address: Address) -> Mapping[str, Any]:
        depot = depots.find(self._project, address.depot)
        return self._facts(Inspect(question, what, depot, asked_about(what, address, self._project)))

    def recover(self, tables: Sequence[Dataset], *, remove: bool) -> Mapping[str, Any]:
        """Finish or give up what writes have left unfinished in these tables."""
        return self._facts(Recover(self._next(), tuple(tables), remove))

    def change(self, change: ChangePlan, *, by: str, dry_run: bool) -> Mapping[str, Any]:
        """Change a table beside writing rows into it, or look what that would come to."""
        return self._facts(Change(self._next(), change, by, dry_run))

    def drop(
        self, table: Dataset, published: str | None, *, expected: str | None = None, dry_run: bool
    ) -> Mapping[str, Any]:
        """Drop a table with its files, or look what that would mean; one of another identity than expected stays."""
        return self._facts(DropTable(self._next(), table, published, expected, dry_run))

    def maintain(self, table: Dataset, operation: Maintenance, *, by: str, dry_run: bool) -> Mapping[str, Any]:
        """Look after a table, or look what that would mean; raises `JobError` if it fails at work."""
        question = Maintain(self._next(), table, operation, by, dry_run)
        return self._facts(question, failed=RequestError if dry_run else JobError)

    def health(
        self,
        table: Dataset,
        small_file_bytes: int | None = None,
        known: str | None = None,
        wanted: Sequence[Partition] = (),
    ) -> TableHealth | None:
        """How well the files of a table serve its readers; None if its newest commit is the known one.

        Of very many partitions, those with the most to do are listed, and the wanted ones.
        """
        data = self._facts(AskHealth(self._next(), table, small_file_bytes, known, tuple(wanted)))
        return _HEALTH.validate_python(data) if data else None

    def cancel(self) -> None:
        """End the question that is being answered, which then fails with the code `cancelled`; also from a signal."""
        self._process.send(Cancel(self._asked))

    def _next(self) -> str:
        """The id of a new question, which `cancel` means from now on."""
        self._asked = self._new_id()
        return self._asked

    def _new_id(self) -> str:
        """An id that no question has had: the engine may still be tidying up after the one before."""
        return f"{QUESTION}-{next(self._numbers)}"

    def _facts(self, question: Work, *, failed: Kind = RequestError) -> Mapping[str, Any]:
        with self._replies.replies_to(question.attempt) as replies:
            self._process.send(question)
            return self._await(replies, Facts, failed).data

    def _await(self, replies: Replies, answer: type[Answer], failed: Kind = RequestError) -> Answer:
        """The answer to a question; a failure of the work itself is an error of the kind `failed`."""
        while True:
            reply = replies.get()
            if isinstance(reply, answer):
                return reply
            if isinstance(reply, Failed | EngineLost):
                raise _error(reply, Redactor(self._project.secrets), failed)
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
            _prune(parent, time.time() - project.settings.keep_days * DAY_SECONDS)
            return Path(tempfile.mkdtemp(prefix="", dir=parent))
    return Path(tempfile.mkdtemp(prefix="catchment-"))


def _prune(parent: Path, before: float) -> None:
    """Remove the logs of engines that were lost so long ago."""
    for place in parent.iterdir():
        with contextlib.suppress(OSError):  # another process may remove it at the same time
            if max(each.stat().st_mtime for each in (place, *place.iterdir())) < before:
                shutil.rmtree(place)


def _error(failure: Failed | EngineLost, redactor: Redactor, failed: Kind) -> CatchmentError:
    if isinstance(failure, EngineLost):
        kind: Kind = type(failure)
    elif failure.retryable:
        kind = Retryable
    else:
        kind = SetupError if failure.setup else failed
    message, hint, detail = redactor.data([failure.message, failure.hint, failure.detail])
    return kind(message, code=failure.code, hint=hint, where=failure.where, detail=detail)
