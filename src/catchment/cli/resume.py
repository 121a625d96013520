"""`catchment resume RUN`."""

from __future__ import annotations

from pathlib import Path

import click

from catchment.cli import options, outcome, secrecy
from catchment.cli.prompts import stop_on_signal


@click.command()
@click.argument("run_id", metavar="RUN")
@options.project
@options.jobs
@options.quiet
@options.output("text", "json")
@options.debug
def resume(run_id: str, where: Path, jobs: int | None, *, quiet: bool, output: str) -> None:
    """Run what did not succeed in an earlier run; what succeeded is kept.

    The workflow file is read again, so a mended statement takes effect.
    """
    project = secrecy.open_project(where)
    from catchment import run

    with stop_on_signal() as stop:
        result = run.resume(run_id, project, jobs=jobs, sinks=outcome.sinks(quiet=quiet), stop=stop)
    outcome.conclude(result, quiet=quiet, output=output)
