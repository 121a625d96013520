"""`catchment query SQL`."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import options, printing, projects
from catchment.errors import RequestError

if TYPE_CHECKING:
    from catchment.engine.protocol import Rows


@click.command()
@click.argument("sql", required=False)
@click.option("-f", "--file", type=click.Path(path_type=Path, dir_okay=False), help="Read the SQL from a file.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Print at most this many rows; 0 for all.",
)
@click.option("--published", is_flag=True, help="Read the published versions of the tables instead of the newest ones.")
@click.option("--engine", default="default", show_default=True, help="The engine that runs the query.")
@options.project
@options.output("table", "json", "csv")
@options.debug
def query(
    sql: str | None, file: Path | None, limit: int, engine: str, where: Path, output: str, *, published: bool
) -> None:
    """Query the lake with SQL; tables are named depot.collection.table.

    Time travel works as in Spark: SELECT … FROM lakehouse.raw01.trips VERSION AS OF 123.
    """
    text = _statement(sql, file)
    project = projects.open_project(where)
    from catchment.run import lake

    rows = lake.query(project, text, limit=limit or None, published=published, engine=engine, tell=printing.tell)
    _echo(rows, output)
    if rows.truncated:
        click.echo(f"only the first {len(rows.rows)} rows are shown; --limit 0 shows all", err=True)


def _statement(sql: str | None, file: Path | None) -> str:
    if (sql is None) == (file is None):
        raise click.UsageError("give the SQL either as an argument or with --file")
    if file is None:
        return sql or ""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"cannot read {file}: {error}", code="file-unreadable") from error


def _echo(rows: Rows, output: str) -> None:
    if output == "json":
        printing.echo_json({"columns": list(rows.columns), "rows": [list(row) for row in rows.rows]})
    elif output == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(rows.columns)
        writer.writerows([printing.cell_text(value) for value in row] for row in rows.rows)
    else:
        printing.echo_table(rows.columns, rows.rows)
