"""`catchment runs [RUN]`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import options, outcome, printing, secrecy

if TYPE_CHECKING:
    from catchment.run.model import RunSummary


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="List at most this many runs.")
@options.reporting
def runs(run_id: str | None, limit: int, where: Path, output: str) -> None:
    """List the newest runs of a project, or show one run with its jobs and errors."""
    from catchment.run import history

    project = secrecy.open_project(where)
    if run_id is not None:
        found = history.show(project, run_id)
        outcome.echo(found, output)
        outcome.echo_errors(found)
        return
    listed = history.runs(project, limit)
    if output == "json":
        printing.echo_json({"runs": [asdict(run) for run in listed]})
    elif not listed:
        click.echo("no runs yet", err=True)
    else:
        printing.echo_table(("run", "workflow", "status", "jobs", "started", "seconds"), map(_row, listed))


def _row(run: RunSummary) -> tuple[object, ...]:
    started = run.started.strftime("%Y-%m-%d %H:%M:%S UTC")
    return run.run_id, run.workflow, run.status, f"{run.succeeded}/{run.jobs}", started, round(run.seconds, 1)
