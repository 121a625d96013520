"""`catchment query SQL`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from catchment.cli import interaction, options, printing, projects, query_output, streams
from catchment.errors import RequestError

if TYPE_CHECKING:
    from catchment.run.query_result import QueryResult

FROM_STANDARD_INPUT = Path("-")
WATCHABLE = ("table", "json")


@click.command()
@click.argument("sql", required=False)
@click.option("-f", "--file", type=options.WORKFLOW_FILE, help="Read the SQL from a file; - is standard input.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"Print at most this many rows; 0 for all.  [default: {query_output.ON_A_TERMINAL} on a terminal, else all]",
)
@click.option("--published", is_flag=True, help="Read the published versions of the tables instead of the newest ones.")
@click.option("--write", is_flag=True, help="Allow statements that change tables; asks first.")
@click.option("--yes", is_flag=True, help="With --write, do not ask.")
@click.option("--engine", help="The engine that runs the query.  [default: one that can read its tables]")
@click.option(
    "--watch",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Run the query again and again, with a pause between, until Ctrl-C; with JSON, one line each time.",
)
@options.project
@options.output(*query_output.FORMS)
@options.debug
def query(
    sql: str | None,
    file: Path | None,
    limit: int | None,
    engine: str | None,
    watch: float | None,
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
    _check_watch(output, watch=watch, write=write)
    query_output.check(output)
    text = _statement(sql, file)
    _check_write(write=write, yes=yes, published=published, file=file)
    project = projects.open_project(where)
    from catchment.run import lake

    asked: Asked = {
        "limit": query_output.row_limit(limit),
        "published": published,
        "engine": engine,
        "tell": printing.tell,
    }
    if watch is None:
        query_output.echo(lake.query(project, text, write=write, **asked), output)
        return
    for look in lake.watch(project, text, watch, **asked):
        _echo_look(look, output)
        if streams.nobody_reads():
            return


class Asked(TypedDict):
    """The arguments of a query, whether it is watched or not."""

    limit: int | None
    published: bool
    engine: str | None
    tell: Callable[[str], None]


def _echo_look(look: QueryResult, output: str) -> None:
    if output == "json":
        query_output.echo_line(look)
    else:
        if sys.stdout.isatty():
            click.clear()
        query_output.echo(look, output)
    sys.stdout.flush()


def _check_watch(output: str, *, watch: float | None, write: bool) -> None:
    if watch is None:
        return
    if output not in WATCHABLE:
        raise click.UsageError(f"--watch prints {' or '.join(WATCHABLE)}, and {output} is one document")
    if write:
        raise click.UsageError("--watch repeats the statement, and --write would repeat what it changes")


def _check_write(*, write: bool, yes: bool, published: bool, file: Path | None) -> None:
    if yes and not write:
        raise click.UsageError("--yes confirms --write, and there is nothing else to confirm")
    if write and published:
        raise click.UsageError("--published only reads: published catalogs cannot be written")
    if write and not yes:
        if file == FROM_STANDARD_INPUT:
            raise click.UsageError("standard input has the statement, so that it cannot be asked: confirm with --yes")
        interaction.require("Run this statement, whatever it changes?")


def _statement(sql: str | None, file: Path | None) -> str:
    if (sql is None) == (file is None):
        raise click.UsageError("give the SQL either as an argument or with --file")
    if file is None:
        return sql or ""
    if file == FROM_STANDARD_INPUT:
        return _standard_input()
    from catchment.spec.document import read_file

    return read_file(file)


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise RequestError(
            f"standard input is not UTF-8 text (byte {error.start})", code="not-utf-8", hint="write the SQL as UTF-8"
        ) from error
