"""The engines of somebody who asks one question after the other: each is started when a question first needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar

from catchment.errors import Cancelled, CatchmentError, EngineLost, RequestError
from catchment.formats.metadata_reading import NeedsEngine
from catchment.plan.fitting import choose_reader
from catchment.plan.sql_depots import depots_in
from catchment.project.model import Address, Project
from catchment.run.engine_pool import Launch
from catchment.run.inspection import Tell, What
from catchment.run.lake import LakeSession
from catchment.run.query_result import QueryResult

Answer = TypeVar("Answer")


class LakeSessions:
    """Sessions with the engines of a project, by name, from `with` to its end.

    One question at a time, apart from `inspect_beside`.
    """

    def __init__(
        self, project: Project, engine: str | None = None, *, tell: Tell = lambda _: None, launch: Launch | None = None
    ) -> None:
        """With a name, every question goes to that engine."""
        self._project, self._engine, self._tell, self._launch = project, engine, tell, launch
        self._open: dict[str, LakeSession] = {}
        self._asked: LakeSession | None = None
        self._asking = self._cancelled = False
        """Whether a question is being answered, also while its engine starts, and whether it was cancelled."""

    def __enter__(self) -> LakeSessions:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for name in list(self._open):
            self._open.pop(name).__exit__(kind, error, at)

    def start(self) -> None:
        """Start the engine that questions without depots go to."""
        self._session(set())

    def query(self, sql: str, *, limit: int | None, published: bool, write: bool) -> QueryResult:
        """The rows of one statement, on an engine that can read the tables that it names."""
        return self._answer(
            depots_in(sql, self._project),
            lambda session: session.query(sql, limit=limit, published=published, write=write),
        )

    def inspect(self, what: What, address: Address) -> Mapping[str, Any]:
        """Facts about a depot or a table."""
        return self._answer({address.depot}, lambda session: session.inspect(what, address))

    def inspect_beside(self, what: What, address: Address) -> Mapping[str, Any]:
        """The same from any thread, for which no other question waits; `NeedsEngine` if its engine does not run yet."""
        session = self._open.get(choose_reader(self._project, self._engine, {address.depot}).engine.name)
        if session is None:
            raise NeedsEngine("no engine that can tell has been started yet")
        return session.inspect_beside(what, address)

    def cancel(self) -> bool:
        """End the question that is being answered, which then fails with the code `cancelled`; also from a signal.

        Returns whether there is one.
        """
        self._cancelled = True
        if (asked := self._asked) is not None:
            asked.cancel()
        return self._asking

    def _session(self, tables: set[str]) -> LakeSession:
        name = choose_reader(self._project, self._engine, tables).engine.name
        if name not in self._open:
            session = LakeSession(
                self._project, engine=self._engine, tables=tables, tell=self._tell, launch=self._launch
            )
            self._open[name] = session.__enter__()
        return self._open[name]

    def _answer(self, tables: set[str], ask: Callable[[LakeSession], Answer]) -> Answer:
        self._asking, self._cancelled = True, False
        try:
            session = self._session(tables)
            self._asked = session
            if self._cancelled:  # while the engine was starting
                raise RequestError("the question was cancelled", code=Cancelled.code)
            return self._answered(session, ask)
        finally:
            self._asking, self._asked = False, None

    def _answered(self, session: LakeSession, ask: Callable[[LakeSession], Answer]) -> Answer:
        try:
            return ask(session)
        except BaseException as error:
            # After an answer, even a bad one, the engine can be asked again. After anything else it is not known what
            # it is doing.
            if isinstance(error, EngineLost) or not isinstance(error, CatchmentError):
                self._open = {name: each for name, each in self._open.items() if each is not session}
                session.__exit__(type(error), error, error.__traceback__)
            raise
