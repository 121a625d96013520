"""What a job tells while it runs: short notes for the run, the whole story for its log file."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from catchment.engine.protocol import Note, NoteEvent
from catchment.errors import Cancelled
from catchment.plan.model import LogLevel
from catchment.project.secrets import Redactor

LEVELS: dict[LogLevel, int] = {
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
}


class Story:
    """Where a job writes down what it does, and where it learns that it should stop."""

    def __init__(
        self,
        attempt: str,
        log: logging.Logger,
        send: Callable[[Note], None],
        cancelled: Event,
        turn: Callable[[], None] = lambda: None,
    ) -> None:
        self.log = log
        self.await_turn = turn
        self._attempt = attempt
        self._send = send
        self._cancelled = cancelled

    def tell(self, event: NoteEvent, text: str, **data: Any) -> None:
        """Say what comes next; raises when somebody has asked to stop."""
        self.check()
        self.log.info(text)
        self.note(event, **data)

    def note(self, event: NoteEvent, **data: Any) -> None:
        """Tell the run what has just happened."""
        self._send(Note(self._attempt, event, data))

    def check(self) -> None:
        """Raise when somebody has asked to stop."""
        if self._cancelled.is_set():
            raise Cancelled("the job was cancelled")

    def behind(self, turn: Callable[[], None]) -> Story:
        """The same story for a part of the job whose outputs must wait for their turn."""
        return Story(self._attempt, self.log, self._send, self._cancelled, turn)

    def warn(self, text: str, **data: Any) -> None:
        """Say what the user should look at; data for programs that look."""
        self.log.warning(text)
        self.note("warning", message=text, **data)


@contextmanager
def job_log(path: Path, level: LogLevel, redactor: Redactor) -> Iterator[logging.Logger]:
    """The log file of one attempt."""
    log = logging.Logger(path.stem, LEVELS[level])
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(_Redacting(redactor))
    log.addHandler(handler)
    try:
        yield log
    finally:
        handler.close()


class _Redacting(logging.Formatter):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.text(super().format(record))
