"""The loop of the shell: reads a line or a statement, answers it, and continues after any error."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Protocol

import click

from catchment.cli import error_report, printing, projects
from catchment.cli.shell import commands, results, statements
from catchment.errors import Cancelled, CatchmentError

if TYPE_CHECKING:
    from catchment.run.lake_names import LakeNames
    from catchment.run.query_result import QueryResult


class Lake(Protocol):
    """What a shell needs from the engines."""

    def query(self, sql: str, *, limit: int | None, published: bool, write: bool) -> QueryResult: ...
    def cancel(self) -> bool: ...


@dataclass
class Shell:
    """A shell: what it queries, and the settings that its commands change."""

    lake: Lake
    names: LakeNames
    limit: int | None = None
    published: bool = False
    write: bool = False
    timing: bool = False
    expanded: bool = False

    def run(self, read: Callable[[], str]) -> None:
        """Answer until the input ends; `read` raises EOFError then, and KeyboardInterrupt to drop a line."""
        while True:
            try:
                self.answer(read())
            except KeyboardInterrupt:
                continue
            except EOFError:
                return

    def answer(self, text: str) -> None:
        """Answer a command or statements; an error is printed, and the statements after it are skipped."""
        try:
            if commands.is_command(text):
                with _cancelling(self.lake.cancel):
                    commands.run(self, text)
                return
            done, rest = statements.split(text)
            for statement in (*done, *([rest] if rest else [])):
                self._run(statement)
        except CatchmentError as error:
            self.echo_error(error)

    def _run(self, statement: str) -> None:
        began = time.monotonic()
        try:
            with _cancelling(self.lake.cancel):
                result = self.lake.query(statement, limit=self.limit, published=self.published, write=self.write)
            took = time.monotonic() - began
            results.show(result, expanded=self.expanded)
            if self.timing:
                printing.tell(f"{took:.3f} s")
        finally:  # a statement that has failed may have changed something, too
            self.names.forget()

    def echo_error(self, error: CatchmentError) -> None:
        """Print an error on standard error."""
        if error.code == Cancelled.code:
            printing.tell("cancelled")
        else:
            click.echo(projects.redactor().text(error_report.error_paragraph(error)), err=True)


@contextmanager
def _cancelling(cancel: Callable[[], bool]) -> Iterator[None]:
    """Let Ctrl-C cancel what is asked of an engine, which then fails; the second one raises KeyboardInterrupt.

    The first one raises nothing: an exception in the middle of a message would break the connection to the engine.
    Where no engine is asked, there is nothing to break.
    """
    told = False

    def handle(_: int, __: FrameType | None) -> None:
        nonlocal told
        if told or not cancel():
            raise KeyboardInterrupt
        told = True
        printing.tell("cancelling (press again to wait no longer)")

    earlier = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)
