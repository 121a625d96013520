"""Shows the rows of a statement: as a table or value by value, and page by page if they do not fit on the screen."""

from __future__ import annotations

import io
import os
import shutil
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import click

from catchment.cli import printing, query_output

if TYPE_CHECKING:
    from catchment.run.query_result import QueryResult

PAGER_OPTIONS = ("LESS", "RSFX")
"""Keep colours, cut long lines, exit at once if the text fits, and do not clear the screen."""


def show(result: QueryResult, *, expanded: bool) -> None:
    """Print the rows."""
    if not result.columns:
        printing.tell("done")
        return
    text = io.StringIO()
    with redirect_stdout(text):
        if expanded:
            _echo_expanded(result)
        else:
            printing.echo_table(result.columns, query_output.decoded(result))
    _paged(text.getvalue())
    count = len(result.texts)
    printing.tell(
        f"only the first {count} rows are shown; `--limit` of the shell or LIMIT in SQL changes that"
        if result.truncated
        else f"{count} row{'' if count == 1 else 's'}"
    )


def _echo_expanded(result: QueryResult) -> None:
    width = max(map(len, result.columns))
    for number, row in enumerate(query_output.decoded(result), 1):
        click.echo(f"row {number}")
        for name, value in zip(result.columns, row, strict=True):
            click.echo(f"  {name:<{width}}   {printing.cell_text(value)}")


def _paged(text: str) -> None:
    size, lines = shutil.get_terminal_size(), text.splitlines()
    fits = len(lines) < size.lines - 1 and all(len(line) <= size.columns for line in lines)
    if fits or not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    os.environ.setdefault(*PAGER_OPTIONS)
    click.echo_via_pager(text)
