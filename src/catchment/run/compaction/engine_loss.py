"""What a compaction does when it loses its engine: another one is started and asked the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

from catchment.errors import CatchmentError, EngineLost, EngineOutOfMemory, Retryable
from catchment.plan.model import Dataset, Maintenance, Partition
from catchment.project.model import Address
from catchment.run.compaction.troubles import paragraph
from catchment.run.inspection import Tell, What
from catchment.run.lake import LakeSession
from catchment.table_health import TableHealth

MOST_ENGINES = 3
"""How many engines in a row one question may cost."""
MOST_IN_A_ROW = 9
"""How many engines in a row may be lost whatever they are asked; those that run out of memory say why themselves."""
PAUSE_SECONDS = 2.0
"""Before the second engine; the pause doubles with each."""

Answer = TypeVar("Answer")


class NoEngineLives(EngineLost):
    """Engines end whatever they are asked: the reason is not in the partition that they compact."""


@dataclass
class EnduringLake:
    """Sessions with the lake, from `with` to its end: the first question starts an engine, and a loss the next one.

    Whatever a compaction asks may be asked again: what an engine did before it was lost is found done.
    """

    open: Callable[[], LakeSession]
    tell: Tell
    stop: threading.Event = field(default_factory=threading.Event)
    """Once it is set, no engine is replaced."""
    losses: int = 0
    """How many engines were lost."""
    _in_a_row: int = 0
    """How many of them since the last answer, apart from those that ran out of memory."""
    _lost: EngineLost | None = None
    """The last of them."""
    _session: LakeSession | None = None

    def __enter__(self) -> EnduringLake:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.__exit__(kind, error, at)

    def inspect(self, what: What, address: Address) -> Mapping[str, Any]:
        """Facts about a depot (`tables`) or a table; raises `EngineLost` if it costs several engines."""
        return self._ask(lambda session: session.inspect(what, address))

    def health(
        self,
        table: Dataset,
        small_file_bytes: int | None = None,
        known: str | None = None,
        wanted: Sequence[Partition] = (),
    ) -> TableHealth | None:
        """How well the files of a table serve its readers; raises `EngineLost` if it costs several engines."""
        return self._ask(lambda session: session.health(table, small_file_bytes, known, wanted))

    def maintain(self, table: Dataset, operation: Maintenance, *, by: str, dry_run: bool) -> Mapping[str, Any]:
        """Run one maintenance action; raises `EngineLost` if it costs several engines."""
        return self._ask(lambda session: session.maintain(table, operation, by=by, dry_run=dry_run))

    def _ask(self, question: Callable[[LakeSession], Answer]) -> Answer:
        engines = 0
        while True:
            is_new, engines = self._session is None, engines + 1
            try:
                return self._answered(question)
            except EngineLost as lost:
                self._lose(lost)
                # A new engine that ran out of memory had done nothing else: the next one would end in the same way.
                if engines == MOST_ENGINES or (is_new and isinstance(lost, EngineOutOfMemory)):
                    raise
                self.tell(f"an engine is lost: {paragraph(lost)}")
                self.stop.wait(PAUSE_SECONDS * 2 ** (engines - 1))

    def _answered(self, question: Callable[[LakeSession], Answer]) -> Answer:
        """The answer of the engine; an error is one too."""
        try:
            answer = question(self._opened())
        except EngineLost:
            raise
        except CatchmentError:
            self._in_a_row = 0
            raise
        self._in_a_row = 0
        return answer

    def _lose(self, lost: EngineLost) -> None:
        """Leave an engine that is lost; raises `NoEngineLives` if that has happened too often."""
        self.__exit__(type(lost), lost, lost.__traceback__)
        self.losses, self._lost = self.losses + 1, lost
        self._in_a_row += not isinstance(lost, EngineOutOfMemory)
        if self._in_a_row >= MOST_IN_A_ROW:
            message = f"{MOST_IN_A_ROW} engines in a row were lost, whatever they were asked. The last: {lost.message}"
            raise NoEngineLives(message, code=lost.code, hint=lost.hint, detail=lost.detail) from lost

    def _opened(self) -> LakeSession:
        if self._session is None:
            if (lost := self._lost) and self.stop.is_set():
                raise Retryable(lost.message, code=lost.code, hint=lost.hint, detail=lost.detail) from lost
            self._session = self.open().__enter__()
        return self._session
