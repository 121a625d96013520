"""Errors become text and exit code here, and nowhere else."""

from __future__ import annotations

import os
import tempfile
import traceback
from pathlib import Path
from typing import Any

import click

from catchment.cli import diagnostics, options, printing, secrecy
from catchment.errors import Cancelled, CatchmentError, InvalidFiles, LeaseHeld, RequestError, SetupError

DONE = 0
JOB_FAILED = 1
WRONG_REQUEST = 2
LEASE_HELD = 4
INTERRUPTED = 130


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
    """Tell the error on standard error (and as JSON on standard output if that was asked for)."""
    debugging = ctx.meta.get(options.DEBUG, False)
    hide = secrecy.redactor(ctx).text
    click.echo(hide(_text(error, _stack(error), debugging=debugging)), err=True)
    if ctx.meta.get(options.OUTPUT) == "json":
        printing.echo_json(secrecy.redactor(ctx).data(_data(error)))
    return exit_code(error)


def _text(error: BaseException, stack: str, *, debugging: bool) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, InvalidFiles):
        text = diagnostics.as_text(error.diagnostics)
    elif isinstance(error, CatchmentError):
        text = _paragraph(error)
    else:
        return _bug(error, stack, debugging=debugging)
    return f"{text}\n\n{stack}" if debugging else text


def _paragraph(error: CatchmentError) -> str:
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
    """Keep the stack trace in a file; a machine without room for it must still see the message."""
    ctx = click.get_current_context(silent=True)
    hidden = secrecy.redactor(ctx).text(stack) if ctx else stack
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


def _data(error: BaseException) -> dict[str, Any]:
    if isinstance(error, InvalidFiles):
        return diagnostics.as_data(error.diagnostics)
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
