"""`catchment logs [RUN]`."""

from __future__ import annotations

from pathlib import Path

import click

from catchment.cli import options, printing, secrecy
from catchment.errors import RequestError


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--job", help="Only the log files of this job.")
@options.reporting
def logs(run_id: str | None, job: str | None, where: Path, output: str) -> None:
    """Print the log files of a run (of the newest one, if none is named)."""
    from catchment.run import history

    project = secrecy.open_project(where)
    newest = [] if run_id else history.runs(project, 1)
    if run_id is None and not newest:
        raise RequestError("this project has no runs yet", code="no-runs", hint="catchment run FILE starts one")
    files = history.log_files(project, run_id or newest[0].run_id, job)
    if output == "json":
        printing.echo_json({"files": [str(file) for file in files]})
        return
    for file in files:
        click.echo(click.style(f"==> {file} <==", bold=True))
        click.echo(file.read_text(encoding="utf-8", errors="replace"))
