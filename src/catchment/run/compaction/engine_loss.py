"""What a compaction does when it loses its engine: another one is started and asked the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

from catchment.errors import EngineLost, EngineOutOfMemory, Retryable
from catchment.plan.model import Dataset, Maintenance, Partition
from catchment.project.model import Address
from catchment.run.compaction.troubles import paragraph
from catchment.run.inspection import Tell, What
from catchment.run.lake import LakeSession
from catchment.table_health import TableHealth

MOST_ENGINES = 3
"""How many engines in a row one question may cost."""
PAUSE_SECONDS = 2.0
"""Before the second engine; the pause doubles with each."""

Answer = TypeVar("Answer")


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
    _lost: EngineLost | None = None
    """The last of these losses."""
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
                return question(self._opened())
            except EngineLost as lost:
                self.__exit__(type(lost), lost, lost.__traceback__)
                self.losses, self._lost = self.losses + 1, lost
                # A new engine that ran out of memory had done nothing else: the next one would end in the same way.
                if engines == MOST_ENGINES or (is_new and isinstance(lost, EngineOutOfMemory)):
                    raise
                self.tell(f"an engine is lost: {paragraph(lost)}")
                self.stop.wait(PAUSE_SECONDS * 2 ** (engines - 1))

    def _opened(self) -> LakeSession:
        if self._session is None:
            if (lost := self._lost) and self.stop.is_set():
                raise Retryable(lost.message, code=lost.code, hint=lost.hint, detail=lost.detail) from lost
            self._session = self.open().__enter__()
        return self._session
