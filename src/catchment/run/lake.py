"""Questions about the lake: each is answered by one engine that lives no longer than the answer takes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, TypeVar

from catchment.engine.launcher import EngineProcess
from catchment.engine.protocol import Command, Facts, Failed, Inspect, Preparing, Ready, Reply, Rows, RunQuery
from catchment.errors import CatchmentError, EngineLost, RequestError, Retryable, SetupError
from catchment.plan.engines import reading_engine
from catchment.plan.model import EnginePlan
from catchment.project.address import parse
from catchment.project.model import Address, Project
from catchment.project.secrets import Redactor
from catchment.run.engines import Launch, Process

QUESTION = "question"
STOP_SECONDS = 5.0

Answer = TypeVar("Answer", Rows, Facts)
Tell = Callable[[str], None]
What = Literal["tables", "table", "snapshots", "files"]


def query(
    project: Project,
    sql: str,
    *,
    limit: int | None,
    engine: str = "default",
    tell: Tell = lambda _: None,
    launch: Launch = EngineProcess.start,
) -> Rows:
    """The rows of a SQL query over `depot.collection.table`; `tell` hears what takes time."""
    asked = RunQuery(QUESTION, sql, limit)
    return _ask(project, asked, Rows, plan=reading_engine(project, engine), tell=tell, launch=launch)


def inspect(
    project: Project,
    what: What,
    address: Address | str,
    *,
    engine: str = "default",
    tell: Tell = lambda _: None,
    launch: Launch = EngineProcess.start,
) -> Mapping[str, Any]:
    """Facts about a depot (`tables`) or a table, named by its address or, for a depot, by its name."""
    place = _place(address)
    asked = Inspect(QUESTION, what, place.depot, place.collection, place.dataset)
    return _ask(project, asked, Facts, plan=reading_engine(project, engine), tell=tell, launch=launch).data


def _place(address: Address | str) -> Address:
    if isinstance(address, Address):
        return address
    return parse(address) if "://" in address else Address(address, None, None, None)


def _ask(
    project: Project, command: RunQuery | Inspect, answer: type[Answer], *, plan: EnginePlan, tell: Tell, launch: Launch
) -> Answer:
    _check_depot(command, plan)
    log_dir = _log_directory(project)
    inbox: SimpleQueue[Reply | EngineLost] = SimpleQueue()
    process = launch(plan, log_dir=log_dir, secrets=project.secrets, inbox=lambda _, reply: inbox.put(reply))
    try:
        reply = _converse(process, inbox, command, answer, tell)
        process.stop(STOP_SECONDS)
    except BaseException:
        process.kill()
        raise
    if isinstance(reply, Failed | EngineLost):
        raise _error(reply, Redactor(project.secrets))
    shutil.rmtree(log_dir, ignore_errors=True)
    return reply


def _converse(
    process: Process, inbox: SimpleQueue[Reply | EngineLost], command: Command, answer: type[Answer], tell: Tell
) -> Answer | Failed | EngineLost:
    while True:
        reply = inbox.get()
        if isinstance(reply, answer | Failed | EngineLost):
            return reply
        if isinstance(reply, Ready):
            process.send(command)
        elif isinstance(reply, Preparing):
            tell(reply.message)


def _check_depot(command: RunQuery | Inspect, plan: EnginePlan) -> None:
    known = [depot.name for depot in plan.depots]
    if isinstance(command, Inspect) and command.depot not in known:
        raise RequestError(
            f"no depot `{command.depot}` with tables is known here",
            code="unknown-depot",
            hint=f"depots with tables: {', '.join(known)}" if known else "no depot with tables exists here yet",
        )


def _log_directory(project: Project) -> Path:
    """A directory for the engine's log; it stays only where it has something to explain."""
    parent = project.home / "questions"
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="", dir=parent))


def _error(failure: Failed | EngineLost, redactor: Redactor) -> CatchmentError:
    if isinstance(failure, EngineLost):
        kind: type[CatchmentError] = EngineLost
    elif failure.retryable:
        kind = Retryable
    else:
        kind = SetupError if failure.setup else RequestError
    message, hint, detail = redactor.data([failure.message, failure.hint, failure.detail])
    return kind(message, code=failure.code, hint=hint, where=failure.where, detail=detail)
