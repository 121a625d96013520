"""Prints answers as JSON and as tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

import click

from catchment.cli import streams

Look = TypeVar("Look")


def tell(line: str) -> None:
    """Print a progress message on standard error."""
    click.echo(line, err=True)


def teller(*, quiet: bool) -> Callable[[str], None]:
    """Prints progress messages, or nothing with `--quiet`."""
    return (lambda _: None) if quiet else tell


def refresh(looks: Iterable[Look], echo: Callable[[Look], object]) -> None:
    """Print one look after another, each in place of the last on a terminal, until nobody reads the output."""
    for number, look in enumerate(looks):
        if number and sys.stdout.isatty():
            click.clear()
        echo(look)
        sys.stdout.flush()
        if streams.nobody_reads():
            return


def echo_json(data: Any, *, indent: int | None = 2) -> None:
    """Print data as JSON on standard output; without an indent, on one line."""
    click.echo(json.dumps(data, indent=indent, ensure_ascii=False, default=_as_text))


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def echo_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under their column names; numbers are right-aligned.

    Lines are never wrapped: a wrapped address can be neither copied nor read by another program.
    """
    if not columns:  # the statement returns nothing
        return
    known = [tuple(row) for row in rows]
    head, body = tuple(map(_cell, columns)), [tuple(_cell(cell_text(value)) for value in row) for row in known]
    widths = [max(_width(line) for row in (head, *body) for line in row[index]) for index in range(len(columns))]
    right = [
        bool(known) and all(_is_number(row[index]) for row in known if row[index] is not None)
        for index in range(len(columns))
    ]
    click.echo(click.style("\n".join(_table_lines(head, widths, right)), bold=True))
    click.echo("─" * (sum(widths) + len(GAP) * (len(widths) - 1)))
    for row in body:
        click.echo("\n".join(_table_lines(row, widths, right)))


GAP = "   "
"""The space between two columns."""
_UNSEEN = dict.fromkeys(map(ord, "\a\b\v\f\r"))
"""Characters that move the cursor of a terminal."""
_Cell = tuple[str, ...]


def _cell(text: str) -> _Cell:
    """The lines of a cell."""
    return tuple(text.translate(_UNSEEN).expandtabs().split("\n"))


def _table_lines(row: Sequence[_Cell], widths: Sequence[int], right: Sequence[bool]) -> Iterator[str]:
    for number in range(max(map(len, row))):
        lines = (cell[number] if number < len(cell) else "" for cell in row)
        yield GAP.join(map(_padded, lines, widths, right))


def _padded(line: str, width: int, right: bool) -> str:  # noqa: FBT001 - mapped over columns
    blanks = " " * (width - _width(line))
    return blanks + line if right else line + blanks


def _width(line: str) -> int:
    """How many columns of a terminal a text takes up."""
    if line.isascii():
        return len(line)
    from rich.cells import cell_len

    return cell_len(line)


def cell_text(value: object) -> str:
    """One value as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
