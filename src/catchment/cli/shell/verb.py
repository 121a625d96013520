"""`catchment shell`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from catchment.cli import options, printing, projects, query_output
from catchment.errors import RequestError


@click.command()
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=query_output.ON_A_TERMINAL,
    show_default=True,
    help="Show at most this many rows of a statement; 0 for all.",
)
@click.option("--published", is_flag=True, help="Read the published versions of the tables instead of the newest ones.")
@click.option("--write", is_flag=True, help="Allow statements that change tables.")
@click.option("--engine", help="The engine that runs all statements.  [default: one that can read their tables]")
@options.project
@options.debug
def shell(limit: int, engine: str | None, where: Path, *, published: bool, write: bool) -> None:
    """Query the lake at a prompt; tables are named depot.collection.table.

    A statement ends with a semicolon. Statements only read, unless --write is given: then any statement may run,
    outside the ledger. Each statement has a session of its own. \\? lists the commands of the shell.
    """
    if write and published:
        raise click.UsageError("--published only reads: published catalogs cannot be written")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RequestError(
            "a shell needs a terminal", code="no-terminal", hint="`catchment query -f -` reads SQL from standard input"
        )
    project = projects.open_project(where)
    from catchment.cli.shell import prompt
    from catchment.cli.shell.loop import Shell
    from catchment.run.lake_names import LakeNames
    from catchment.run.lake_sessions import LakeSessions

    with LakeSessions(project, engine, tell=printing.tell) as lake:
        lake.start()
        names = LakeNames(project, lake)
        click.echo("\\? for help, Ctrl-D to leave" + ("; statements may change tables" if write else ""), err=True)
        Shell(lake, names, limit or None, published, write).run(
            prompt.reader(names, prompt.history_of(project), write=write)
        )
