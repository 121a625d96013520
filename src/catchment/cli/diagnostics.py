"""Diagnostics as a good compiler prints them, and as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from catchment.errors import Diagnostic, Position

_COLORS = {"error": "red", "warning": "yellow"}


def as_data(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """The JSON that `validate` prints."""
    return {"diagnostics": [_fields(diagnostic) for diagnostic in diagnostics]}


def as_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Each with the offending line, a caret under the place, and a hint."""
    sources: dict[str, Sequence[str]] = {}
    lines: list[str] = []
    for diagnostic in diagnostics:
        where = diagnostic.where
        if where and where.file not in sources:
            sources[where.file] = _lines(where.file)
        lines += _paragraph(diagnostic, _snippet(where, sources[where.file]) if where else [])
    return "\n".join(lines)


def _fields(diagnostic: Diagnostic) -> dict[str, Any]:
    where = diagnostic.where
    return {
        "file": where.file if where else None,
        "line": where.line if where else None,
        "column": where.column if where else None,
        "severity": diagnostic.severity.value,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
    }


def _paragraph(diagnostic: Diagnostic, snippet: list[str]) -> list[str]:
    severity = diagnostic.severity.value
    head = click.style(f"{severity}[{diagnostic.code}]", fg=_COLORS[severity], bold=True)
    place = f"{diagnostic.where}: " if diagnostic.where else ""
    hint = [f"  {click.style('hint:', fg='cyan')} {diagnostic.hint}"] if diagnostic.hint else []
    return [f"{place}{head}: {diagnostic.message}", *snippet, *hint]


def _snippet(where: Position, source: Sequence[str]) -> list[str]:
    """The line and a caret below it; nothing if the file has no such line."""
    from catchment.project.secrets import source_line

    if not 1 <= where.line <= len(source):
        return []
    line, number = source[where.line - 1], str(where.line)
    # Tabs before the place are kept, so that the caret stands below it whatever their width is.
    lead = "".join(c if c == "\t" else " " for c in line[: where.column - 1])
    caret = click.style("^", fg="green", bold=True)
    return [f"  {number} | {source_line(line.rstrip())}", f"  {' ' * len(number)} | {lead}{caret}"]


def _lines(file: str) -> Sequence[str]:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
