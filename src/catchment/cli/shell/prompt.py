"""The prompt: statements of several lines, history and completion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from catchment.cli.shell import commands, statements
from catchment.cli.shell.completion import Names, SqlCompleter, UnawaitedCompleter

if TYPE_CHECKING:
    from pathlib import Path

    from catchment.project.model import Project

READ_ONLY, WRITING, FURTHER = "sql> ", "sql (write)> ", "...> "


def reader(names: Names, history: History, *, write: bool, **terminal: Any) -> Callable[[], str]:
    """A function that reads what the user enters: a command, or complete statements."""
    first = WRITING if write else READ_ONLY
    session: PromptSession[str] = PromptSession(
        first,
        multiline=True,
        prompt_continuation=lambda width, number, wrapped: FURTHER.rjust(len(first)),
        history=history,
        completer=UnawaitedCompleter(SqlCompleter(names, tuple(commands.COMMANDS))),
        complete_while_typing=True,
        key_bindings=_bindings(),
        enable_history_search=False,
        **terminal,
    )
    return session.prompt


def history_of(project: Project) -> History:
    """The history of this project, in a file that only its owner may read; outside a project, no file is created."""
    if not project.home.is_dir():
        return InMemoryHistory()
    return FileHistory(str(_private(project.home / "shell_history")))


def _private(file: Path) -> Path:
    file.touch(mode=0o600)
    return file


def is_ready(text: str) -> bool:
    """Whether Enter submits a text; otherwise it begins another line."""
    return commands.is_command(text) or statements.is_complete(text)


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @Condition
    def ready() -> bool:
        from prompt_toolkit.application import get_app

        return is_ready(get_app().current_buffer.text)

    @bindings.add("enter", filter=ready)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return bindings
