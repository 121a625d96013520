"""`catchment query SQL`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import interaction, options, printing, projects

if TYPE_CHECKING:
    from catchment.run.query_result import QueryResult

ON_A_TERMINAL = 1000
"""How many rows a person gets to see who has not said how many."""


@click.command()
@click.argument("sql", required=False)
@click.option("-f", "--file", type=options.WORKFLOW_FILE, help="Read the SQL from a file.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"Print at most this many rows; 0 for all.  [default: {ON_A_TERMINAL} on a terminal, else all]",
)
@click.option("--published", is_flag=True, help="Read the published versions of the tables instead of the newest ones.")
@click.option("--write", is_flag=True, help="Allow statements that change tables; asks first.")
@click.option("--yes", is_flag=True, help="With --write, do not ask.")
@click.option("--engine", help="The engine that runs the query.  [default: one that can read its tables]")
@options.project
@options.output("table", "json", "csv")
@options.debug
def query(
    sql: str | None,
    file: Path | None,
    limit: int | None,
    engine: str | None,
    where: Path,
    output: str,
    *,
    published: bool,
    write: bool,
    yes: bool,
) -> None:
    """Query the lake with SQL; tables are named depot.collection.table.

    A query only reads. With --write any statement may run, outside the ledger: nothing keeps it from being repeated.

    Time travel works as in Spark: SELECT … FROM lakehouse.raw01.trips VERSION AS OF 123.
    """
    text = _statement(sql, file)
    _check_write(write=write, yes=yes, published=published)
    project = projects.open_project(where)
    from catchment.run import lake

    if limit is None and sys.stdout.isatty():
        limit = ON_A_TERMINAL
    rows = lake.query(
        project, text, limit=limit or None, published=published, write=write, engine=engine, tell=printing.tell
    )
    _echo(rows, output)
    if rows.truncated:
        printing.tell(f"only the first {len(rows.texts)} rows are shown; --limit 0 shows all")


def _check_write(*, write: bool, yes: bool, published: bool) -> None:
    if yes and not write:
        raise click.UsageError("--yes confirms --write, and there is nothing else to confirm")
    if write and published:
        raise click.UsageError("--published only reads: published catalogs cannot be written")
    if write and not yes:
        interaction.require("Run this statement, whatever it changes?")


def _statement(sql: str | None, file: Path | None) -> str:
    if (sql is None) == (file is None):
        raise click.UsageError("give the SQL either as an argument or with --file")
    if file is None:
        return sql or ""
    from catchment.spec.document import read_file

    return read_file(file)


def _echo(result: QueryResult, output: str) -> None:
    if output == "json":
        _echo_json(result)
    elif output == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(result.columns)
        writer.writerows(map(printing.cell_text, row) for row in _decoded(result))
    else:
        printing.echo_table(result.columns, _decoded(result))


def _echo_json(result: QueryResult) -> None:
    """Print the rows as they came: a large result would need much memory as Python values."""
    columns, truncated = json.dumps(result.columns, ensure_ascii=False), json.dumps(result.truncated)
    sys.stdout.write(f'{{\n  "columns": {columns},\n  "truncated": {truncated},\n  "rows": [')
    for number, text in enumerate(result.texts):
        sys.stdout.write(f"{',' if number else ''}\n    {text}")
    sys.stdout.write("\n  ]\n}\n" if result.texts else "]\n}\n")


def _decoded(result: QueryResult) -> Iterator[list[Any]]:
    return (json.loads(text) for text in result.texts)
