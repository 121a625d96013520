"""How errors and diagnostics are printed, and which exit code they stand for."""

from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import click

from catchment import os_errors
from catchment.cli import options, printing, projects
from catchment.errors import (
    Cancelled,
    CatchmentError,
    Diagnostic,
    InvalidFiles,
    LeaseHeld,
    Position,
    RequestError,
    SetupError,
)

DONE = 0
JOB_FAILED = 1
WRONG_REQUEST = 2
LEASE_HELD = 4
INTERRUPTED = 130

LONGEST_LINE = 240
"""How many characters of a source line are shown."""
LONGEST_MESSAGE = 2000


def exit_code(error: BaseException) -> int:
    """The exit code that an error stands for."""
    if isinstance(error, RequestError | SetupError):
        return WRONG_REQUEST
    if isinstance(error, LeaseHeld):
        return LEASE_HELD
    if isinstance(error, Cancelled | KeyboardInterrupt):
        return INTERRUPTED
    return JOB_FAILED


def report(error: BaseException, ctx: click.Context) -> int:
    """Print the error on standard error, and as JSON on standard output with `--output json`."""
    if isinstance(error, OSError):
        error = os_errors.explained(error) or error
    debugging = ctx.meta.get(options.DEBUG, False)
    hide = projects.redactor(ctx).text
    click.echo(hide(_error_text(error, _stack(error), debugging=debugging)), err=True)
    if ctx.meta.get(options.OUTPUT) == "json":
        printing.echo_json(projects.redactor(ctx).data(_error_data(error)))
    return exit_code(error)


def _error_text(error: BaseException, stack: str, *, debugging: bool) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, InvalidFiles):
        text = diagnostics_text(error.diagnostics)
    elif isinstance(error, CatchmentError):
        text = error_paragraph(error)
    else:
        return _bug(error, stack, debugging=debugging)
    return f"{text}\n\n{stack}" if debugging else text


def error_paragraph(error: CatchmentError) -> str:
    """What happened, where, what to do next."""
    head = f"{click.style(f'error[{error.code}]', fg='red', bold=True)}: {error.message}"
    hint = f"\n  {click.style('hint:', fg='cyan')} {error.hint}" if error.hint else ""
    return f"{error.where}: {head}{hint}" if error.where else head + hint


def _bug(error: BaseException, stack: str, *, debugging: bool) -> str:
    head = click.style("error[internal]", fg="red", bold=True)
    message = f"{head}: this is a bug in Catchment: {type(error).__name__}: {error}"
    if debugging:
        return f"{message}\n\n{stack}"
    return f"{message}\n  hint: {_what_to_do(stack)}"


def _what_to_do(stack: str) -> str:
    log = _crash_log(stack)
    if log is None:
        return "run it again with --debug to see where it happened, and report that"
    return f"please report it with {log}, or run it again with --debug to see where it happened"


def _crash_log(stack: str) -> Path | None:
    """Save the stack trace in a file; None if it cannot be written, because the message must be shown in any case."""
    ctx = click.get_current_context(silent=True)
    hidden = projects.redactor(ctx).text(stack) if ctx else stack
    try:
        handle, name = tempfile.mkstemp(prefix="catchment-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(hidden)
    except OSError:
        return None
    return Path(name)


def _stack(error: BaseException) -> str:
    stack = "".join(traceback.format_exception(error)).rstrip()
    detail = getattr(error, "detail", None)
    return f"{stack}\n\n{detail}" if detail else stack


def _error_data(error: BaseException) -> dict[str, Any]:
    if isinstance(error, InvalidFiles):
        return diagnostics_data(error.diagnostics)
    where = getattr(error, "where", None)
    return {
        "error": {
            "code": _code(error),
            "message": getattr(error, "message", None) or str(error) or type(error).__name__,
            "hint": getattr(error, "hint", None),
            "file": where.file if where else None,
            "line": where.line if where else None,
            "column": where.column if where else None,
        }
    }


def _code(error: BaseException) -> str:
    if isinstance(error, CatchmentError):
        return error.code
    return "cancelled" if isinstance(error, KeyboardInterrupt) else "internal"


_COLORS = {"error": "red", "warning": "yellow"}


def diagnostics_data(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """The JSON that `validate` prints."""
    return {"diagnostics": [_diagnostic_data(diagnostic) for diagnostic in diagnostics]}


def diagnostics_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Diagnostics as text: each with the offending line, a caret under the position, and a hint."""
    sources: dict[str, Sequence[str]] = {}
    lines: list[str] = []
    for diagnostic in diagnostics:
        where = diagnostic.where
        if where and where.file not in sources:
            sources[where.file] = _lines(where.file)
        lines += _diagnostic_lines(diagnostic, _snippet(where, sources[where.file]) if where else [])
    return "\n".join(lines)


def clipped(text: str) -> str:
    """A message without its middle if it is too long, because it may quote a value of any length."""
    half = LONGEST_MESSAGE // 2
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:half]} … {text[-half:]}"


def _diagnostic_data(diagnostic: Diagnostic) -> dict[str, Any]:
    where = diagnostic.where
    return {
        "file": where.file if where else None,
        "line": where.line if where else None,
        "column": where.column if where else None,
        "severity": diagnostic.severity.value,
        "code": diagnostic.code,
        "message": clipped(diagnostic.message),
        "hint": diagnostic.hint and clipped(diagnostic.hint),
    }


def _diagnostic_lines(diagnostic: Diagnostic, snippet: list[str]) -> list[str]:
    severity = diagnostic.severity.value
    head = click.style(f"{severity}[{diagnostic.code}]", fg=_COLORS[severity], bold=True)
    place = f"{diagnostic.where}: " if diagnostic.where else ""
    hint = [f"  {click.style('hint:', fg='cyan')} {clipped(diagnostic.hint)}"] if diagnostic.hint else []
    return [f"{place}{head}: {clipped(diagnostic.message)}", *snippet, *hint]


def _snippet(where: Position, source: Sequence[str]) -> list[str]:
    """The line with a caret below it; nothing if the file has no such line."""
    if not 1 <= where.line <= len(source):
        return []
    whole, number = source[where.line - 1].rstrip(), str(where.line)
    shown, _ = _excerpt(_masked(whole), where.column)
    line, column = _excerpt(whole, where.column)
    # Tabs are kept, so that the caret is below the position whatever their width is.
    lead = "".join(c if c == "\t" else " " for c in line[: column - 1])
    caret = click.style("^", fg="green", bold=True)
    return [f"  {number} | {shown}", f"  {' ' * len(number)} | {lead}{caret}"]


@lru_cache(maxsize=16)  # one long line may have thousands of problems
def _masked(line: str) -> str:
    from catchment.project.secrets import source_line

    return source_line(line)


def _excerpt(line: str, column: int) -> tuple[str, int]:
    """The part of a very long line around a column, and the column in it."""
    start = max(0, column - 1 - LONGEST_LINE // 2)
    if len(line) <= LONGEST_LINE:
        return line, column
    head, tail = "…" if start else "", "…" if start + LONGEST_LINE < len(line) else ""
    return f"{head}{line[start : start + LONGEST_LINE]}{tail}", column - start + len(head)


def _lines(file: str) -> Sequence[str]:
    """The lines of a workflow or project file, to show some of them; none if it cannot be read."""
    from catchment.spec.document import read_file

    try:
        return read_file(Path(file)).splitlines()
    except InvalidFiles:
        return ()
