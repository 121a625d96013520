"""Prints answers as JSON and as tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
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
    """Print what somebody watches, each time in place of the last on a terminal, as long as anybody reads."""
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
    """Print rows under their column names; numbers are right-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    lines = [tuple(row) for row in rows]
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for index, name in enumerate(columns):
        numeric = bool(lines) and all(_is_number(row[index]) for row in lines if row[index] is not None)
        table.add_column(Text(name), justify="right" if numeric else "left", no_wrap=True)
    for row in lines:
        table.add_row(*(Text(cell_text(value)) for value in row))
    # Lines are never folded: an address that is folded can be neither copied nor read by the next program.
    Console(file=sys.stdout, width=1_000_000, highlight=False).print(table, crop=False)


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
