"""The engines of a compaction: started when one is needed, ended when none is, and replaced when one is lost."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

from catchment.errors import Cancelled, CatchmentError, EngineLost, EngineOutOfMemory, Retryable
from catchment.formats.metadata_reading import NeedsEngine
from catchment.plan.model import Dataset, Maintenance, Partition
from catchment.project.model import Address, Project
from catchment.run import inspection
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

IDLE_SECONDS = 600.0
"""An engine that nothing was asked of for so long ends; the next question that needs one starts another."""
FINISH_SECONDS = 45.0
"""How long what is under way may go on after the request to stop: `services stop` waits for a minute."""
LOOK_SECONDS = 1.0
"""How often it is looked whether that has passed."""

Answer = TypeVar("Answer")


class NoEngineLives(EngineLost):
    """Engines end whatever they are asked: the reason is not in the partition that they compact."""


@dataclass
class EnduringLake:
    """Sessions with the lake, from `with` to its end: a question that needs an engine starts it, and a loss the next.

    Whatever a compaction asks may be asked again: what an engine did before it was lost is found done.
    """

    open: Callable[[], LakeSession]
    tell: Tell
    stop: threading.Event = field(default_factory=threading.Event)
    """Once it is set, no engine is replaced."""
    project: Project | None = None
    """Given if how tables are is read from their metadata; then engines answer only what cannot be read."""
    losses: int = 0
    """How many engines were lost."""
    _in_a_row: int = 0
    """How many of them since the last answer, apart from those that ran out of memory."""
    _lost: EngineLost | None = None
    """The last of them."""
    _session: LakeSession | None = None
    _asked: LakeSession | None = None
    """The session while it is asked something."""
    _needed: float = 0.0
    """When the engine has last answered."""

    _left: threading.Event = field(default_factory=threading.Event)
    """Set at the end of `with`."""

    def __enter__(self) -> EnduringLake:
        threading.Thread(target=self._cancel_if_late, name="to stop", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._left.set()
        self._leave(kind, error, at)

    def _leave(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the engine."""
        session, self._session = self._session, None
        if session is not None:
            session.__exit__(kind, error, at)

    def inspect(self, what: What, address: Address) -> Mapping[str, Any]:
        """Facts about a depot (`tables`) or a table; raises `EngineLost` if it costs several engines."""
        return self._read(
            lambda project: inspection.read(project, what, address),
            lambda session: session.inspect(what, address),
        )

    def health(
        self,
        table: Dataset,
        small_file_bytes: int | None = None,
        known: str | None = None,
        wanted: Sequence[Partition] = (),
    ) -> TableHealth | None:
        """How well the files of a table serve its readers; raises `EngineLost` if it costs several engines."""

        def read(project: Project) -> TableHealth | None:
            if known is not None and inspection.head(project, table) == known:
                return None
            return inspection.health(project, table, small_file_bytes, wanted)

        return self._read(read, lambda session: session.health(table, small_file_bytes, known, wanted))

    def maintain(self, table: Dataset, operation: Maintenance, *, by: str, dry_run: bool) -> Mapping[str, Any]:
        """Run one maintenance action; raises `EngineLost` if it costs several engines."""
        return self._ask(lambda session: session.maintain(table, operation, by=by, dry_run=dry_run))

    def _read(self, read: Callable[[Project], Answer], question: Callable[[LakeSession], Answer]) -> Answer:
        """The answer without an engine, or else that of one; an engine that was not needed for long ends meanwhile."""
        if self.project is None:
            return self._ask(question)
        try:
            answer = read(self.project)
        except NeedsEngine:
            return self._ask(question)
        if self._session is not None and time.monotonic() - self._needed > IDLE_SECONDS:
            self._leave(None, None, None)
        return answer

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
        session = self._opened()
        self._asked = session
        try:
            answer = question(session)
        except EngineLost:
            raise
        except CatchmentError as error:
            self._in_a_row, self._needed = 0, time.monotonic()
            if error.code == Cancelled.code and self.stop.is_set():
                raise Cancelled(error.message, hint="what was not finished is left for the next compaction") from error
            raise
        finally:
            self._asked = None
        self._in_a_row, self._needed = 0, time.monotonic()
        return answer

    def _lose(self, lost: EngineLost) -> None:
        """Leave an engine that is lost; raises `NoEngineLives` if that has happened too often."""
        self._leave(type(lost), lost, lost.__traceback__)
        self.losses, self._lost = self.losses + 1, lost
        self._in_a_row += not isinstance(lost, EngineOutOfMemory)
        if self._in_a_row >= MOST_IN_A_ROW:
            message = f"{MOST_IN_A_ROW} engines in a row were lost, whatever they were asked. The last: {lost.message}"
            raise NoEngineLives(message, code=lost.code, hint=lost.hint, detail=lost.detail) from lost

    def _cancel_if_late(self) -> None:
        """Cancel what has not ended long after somebody wanted it to stop."""
        until, told = math.inf, False
        while not self._left.wait(LOOK_SECONDS):
            if self.stop.is_set():
                until = min(until, time.monotonic() + FINISH_SECONDS)
            if time.monotonic() >= until and (asked := self._asked):
                if not told:
                    self.tell(f"what has not ended {FINISH_SECONDS:.0f} s after the request to stop is cancelled")
                told = True
                asked.cancel()  # again and again: the engine may not have heard of the question yet

    def _opened(self) -> LakeSession:
        if self._session is None:
            if (lost := self._lost) and self.stop.is_set():
                raise Retryable(lost.message, code=lost.code, hint=lost.hint, detail=lost.detail) from lost
            self._session = self.open().__enter__()
        return self._session
