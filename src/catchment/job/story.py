"""Reports what a job does: short notes to the run, details to the job's log file."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from threading import Event
from typing import Any

from catchment import private_files
from catchment.commit.linger import AT_ONCE
from catchment.engine.protocol import Note, NoteEvent
from catchment.errors import Cancelled
from catchment.job.lingering import Lingering
from catchment.plan.model import LogLevel, OutputPlan
from catchment.project.secrets import Redactor

LEVELS: dict[LogLevel, int] = {
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
}


class Story:
    """Reports the progress of a job, and tells the job when it is cancelled."""

    def __init__(
        self,
        attempt: str,
        log: logging.Logger,
        send: Callable[[Note], None],
        cancelled: Event,
        lingering: Lingering | None = None,
    ) -> None:
        self.log = log
        self.wait_to_seal: Callable[[], None] = lambda: None
        self.linger = AT_ONCE
        self._lingering = lingering
        self._attempt = attempt
        self._send = send
        self._cancelled = cancelled

    def tell(self, event: NoteEvent, text: str, **data: Any) -> None:
        """Report what comes next; raises if the job was cancelled."""
        self.check()
        self.log.info(text)
        self.note(event, **data)

    def note(self, event: NoteEvent, **data: Any) -> None:
        """Send an event to the run."""
        self._send(Note(self._attempt, event, data))

    @property
    def is_cancelled(self) -> bool:
        """Whether the job was cancelled."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Raise if the job was cancelled."""
        if self.is_cancelled:
            raise Cancelled("the job was cancelled")

    def sealing_after(self, wait_to_seal: Callable[[], None]) -> Story:
        """The same story for a window that must wait for others before it seals."""
        story = copy(self)
        story.wait_to_seal = wait_to_seal
        return story

    def of_output(self, output: OutputPlan) -> Story:
        """The same story for the write of one output, which may wait for others once it is sealed."""
        story = copy(self)
        story.linger = self._lingering.of(output) if self._lingering else AT_ONCE
        return story

    def of_batch(self) -> Story:
        """The same story for one of many batches: only its warnings become events."""
        story = copy(self)
        story._send = lambda note: self._send(note) if note.event == "warning" else None
        return story

    def warn(self, text: str, **data: Any) -> None:
        """Warn the user; `data` is for programs."""
        self.log.warning(text)
        self.note("warning", message=text, **data)


@contextmanager
def job_log(path: Path, level: LogLevel, redactor: Redactor) -> Iterator[logging.Logger]:
    """The log file of one attempt."""
    log = logging.Logger(path.stem, LEVELS[level])
    private_files.make_file(path)
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(_Redacting(redactor))
    log.addHandler(handler)
    try:
        yield log
    finally:
        with suppress(OSError):  # the disk is full: what was written before stays
            handler.close()


class _Redacting(logging.Formatter):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.text(super().format(record))
