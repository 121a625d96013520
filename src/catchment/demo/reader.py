"""A reader with its own engine that queries one table repeatedly while other engines write it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from catchment.demo.scenarios import State, state
from catchment.errors import CatchmentError

PAUSE_SECONDS = 0.5
"""Short enough to catch a half-written state, long enough to leave the machine to the writers."""


@dataclass(frozen=True)
class Observed:
    """What the reader saw: every state in order, every error."""

    states: tuple[State, ...]
    errors: tuple[CatchmentError, ...]


class WatchingReader:
    """Queries in a thread while its `with` block runs, at least once."""

    def __init__(self, query: Callable[[], tuple[tuple[object, ...], ...]]) -> None:
        self._query = query
        self._stop = threading.Event()
        self._states: list[State] = []
        self._errors: list[CatchmentError] = []
        self._thread = threading.Thread(target=self._watch, name="demo-reader")

    @property
    def seen(self) -> Observed:
        return Observed(tuple(self._states), tuple(self._errors))

    def __enter__(self) -> WatchingReader:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self._look()
            if self._stop.wait(PAUSE_SECONDS):
                return

    def _look(self) -> None:
        try:
            self._states.append(state(self._query()))
        except CatchmentError as error:
            if error.code == "table-or-view-not-found" and not any(self._states):
                self._states.append(State())
            else:
                self._errors.append(error)
