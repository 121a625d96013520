"""The engines of somebody who asks one question after the other: each is started when a question first needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar

from catchment.errors import Cancelled, CatchmentError, EngineLost, RequestError
from catchment.plan.fitting import choose_reader
from catchment.plan.sql_depots import depots_in
from catchment.project.model import Address, Project
from catchment.run.engine_pool import Launch
from catchment.run.inspection import Tell, What
from catchment.run.lake import LakeSession
from catchment.run.query_result import QueryResult

Answer = TypeVar("Answer")


class LakeSessions:
    """Sessions with the engines of a project, by name, from `with` to its end. One question at a time."""

    def __init__(
        self, project: Project, engine: str | None = None, *, tell: Tell = lambda _: None, launch: Launch | None = None
    ) -> None:
        """With a name, every question goes to that engine."""
        self._project, self._engine, self._tell, self._launch = project, engine, tell, launch
        self._open: dict[str, LakeSession] = {}
        self._lock = threading.Lock()
        self._asked: LakeSession | None = None
        self._cancelled = False

    def __enter__(self) -> LakeSessions:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for name in list(self._open):
            self._open.pop(name).__exit__(kind, error, at)

    def start(self) -> None:
        """Start the engine that questions without depots go to."""
        with self._lock:
            self._session(set())

    def query(self, sql: str, *, limit: int | None, published: bool, write: bool) -> QueryResult:
        """The rows of one statement, on an engine that can read the tables that it names."""
        self._cancelled = False
        with self._lock:
            session = self._session(depots_in(sql, self._project))
            return self._answered(session, lambda: session.query(sql, limit=limit, published=published, write=write))

    def inspect(self, what: What, address: Address) -> Mapping[str, Any]:
        """Facts about a depot or a table."""
        with self._lock:
            session = self._session({address.depot})
            return self._answered(session, lambda: session.inspect(what, address))

    def is_running(self, depot: str) -> bool:
        """Whether the engine that can read a depot has been started."""
        return choose_reader(self._project, self._engine, {depot}).engine.name in self._open

    def cancel(self) -> None:
        """End the question that is being answered, which then fails with the code `cancelled`; also from a signal."""
        self._cancelled = True
        if (asked := self._asked) is not None:
            asked.cancel()

    def _session(self, tables: set[str]) -> LakeSession:
        name = choose_reader(self._project, self._engine, tables).engine.name
        if name not in self._open:
            session = LakeSession(
                self._project, engine=self._engine, tables=tables, tell=self._tell, launch=self._launch
            )
            self._open[name] = session.__enter__()
        return self._open[name]

    def _answered(self, session: LakeSession, ask: Callable[[], Answer]) -> Answer:
        self._asked = session
        try:
            if self._cancelled:  # while the engine was starting
                raise RequestError("the question was cancelled", code=Cancelled.code)
            return ask()
        except BaseException as error:
            # After an answer, even a bad one, the engine can be asked again. After anything else it is not known what
            # it is doing.
            if isinstance(error, EngineLost) or not isinstance(error, CatchmentError):
                self._open = {name: each for name, each in self._open.items() if each is not session}
                session.__exit__(type(error), error, error.__traceback__)
            raise
        finally:
            self._asked = None
