"""`catchment runs [RUN]` and `catchment logs [RUN]`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import options, printing, projects, run_result

if TYPE_CHECKING:
    from catchment.run.results import RunSummary


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="List at most this many runs.")
@options.reporting
def runs(run_id: str | None, limit: int, where: Path, output: str) -> None:
    """List the newest runs of a project, or show one run with its jobs and errors."""
    from catchment.run import run_history

    project = projects.open_project(where)
    if run_id is not None:
        options.refuse(options.given("limit"), "one run is shown", "leave it out, or leave out the run")
        found = run_history.show(project, run_id)
        run_result.echo(found, output)
        run_result.echo_errors(found)
        return
    listed = run_history.runs(project, limit)
    if output == "json":
        printing.echo_json({"runs": [asdict(run) for run in listed]})
    elif not listed:
        click.echo("no runs yet", err=True)
    else:
        printing.echo_table(("run", "workflow", "status", "jobs", "started", "seconds"), map(_row, listed))


def _row(run: RunSummary) -> tuple[object, ...]:
    started = run.started.strftime("%Y-%m-%d %H:%M:%S UTC")
    return run.run_id, run.workflow, run.status, f"{run.succeeded}/{run.jobs}", started, round(run.seconds, 1)


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--job", help="Only the log files of this job.")
@options.reporting
def logs(run_id: str | None, job: str | None, where: Path, output: str) -> None:
    """Print the log files of a run, or of the newest run if none is named."""
    from catchment.run import run_history

    project = projects.open_project(where)
    files = run_history.log_files(project, run_id or run_history.newest(project).id, job)
    if output == "json":
        printing.echo_json({"files": [str(file) for file in files]})
        return
    for file in files:
        click.echo(click.style(f"==> {file} <==", bold=True))
        click.echo(file.read_text(encoding="utf-8", errors="replace"))
