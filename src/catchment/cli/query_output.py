"""Prints the result of a query in every form."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import printing
from catchment.errors import RequestError

if TYPE_CHECKING:
    from catchment.run.query_result import QueryResult

FORMS = ("table", "json", "csv", "markdown", "arrow")
ON_A_TERMINAL = 1000
"""How many rows a terminal shows if no limit is given."""


def row_limit(given: int | None) -> int | None:
    """The maximum number of rows to print; None for all."""
    if given is None and sys.stdout.isatty():
        return ON_A_TERMINAL
    return given or None


def check(form: str) -> None:
    """Refuse a form that a terminal cannot show."""
    if form == "arrow" and sys.stdout.isatty():
        raise RequestError(
            "Arrow is binary, and standard output is a terminal",
            code="binary-on-terminal",
            hint="redirect it into a file or a program: catchment query … --output arrow > rows.arrows",
        )


def echo(result: QueryResult, form: str) -> None:
    """Print the rows; a line on standard error says if there are more."""
    _FORMS[form](result)
    if result.truncated:
        printing.tell(f"only the first {len(result.texts)} rows are shown; --limit 0 shows all")


def echo_line(result: QueryResult) -> None:
    """Print the rows as JSON on one line."""
    rows = [json.loads(text) for text in result.texts]
    printing.echo_json({"columns": result.columns, "truncated": result.truncated, "rows": rows}, indent=None)


def decoded(result: QueryResult) -> Iterator[list[Any]]:
    """Each row as the values of its JSON."""
    return (json.loads(text) for text in result.texts)


def _table(result: QueryResult) -> None:
    printing.echo_table(result.columns, decoded(result))


def _json(result: QueryResult) -> None:
    """Print the rows as received: as Python values, a large result would need much more memory."""
    columns, truncated = json.dumps(result.columns, ensure_ascii=False), json.dumps(result.truncated)
    sys.stdout.write(f'{{\n  "columns": {columns},\n  "truncated": {truncated},\n  "rows": [')
    for number, text in enumerate(result.texts):
        sys.stdout.write(f"{',' if number else ''}\n    {text}")
    sys.stdout.write("\n  ]\n}\n" if result.texts else "]\n}\n")


def _csv(result: QueryResult) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows(map(printing.cell_text, row) for row in decoded(result))


def _markdown(result: QueryResult) -> None:
    if not result.columns:
        return
    click.echo(_markdown_line(result.columns))
    click.echo(_markdown_line("---" for _ in result.columns))
    for row in decoded(result):
        click.echo(_markdown_line(map(printing.cell_text, row)))


def _markdown_line(cells: Any) -> str:
    escaped = (cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", "<br>") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _arrow(result: QueryResult) -> None:
    """Write a stream of Arrow's IPC format."""
    import pyarrow as pa

    table = result.to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    sys.stdout.flush()
    sys.stdout.buffer.write(sink.getvalue())


_FORMS = {"table": _table, "json": _json, "csv": _csv, "markdown": _markdown, "arrow": _arrow}
