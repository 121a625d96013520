"""`catchment run FILE`."""

from __future__ import annotations

from pathlib import Path

import click

from catchment.cli import diagnostics, options, outcome, secrecy
from catchment.cli.interruption import stop_on_signal


@click.command()
@click.argument("file", type=options.WORKFLOW_FILE)
@options.jobs
@options.quiet
@options.output("text", "json")
@options.debug
def run(file: Path, jobs: int | None, *, quiet: bool, output: str) -> None:
    """Run a workflow and report what each job wrote."""
    run_file(file, jobs=jobs, quiet=quiet, output=output)


def run_file(file: Path, *, jobs: int | None, quiet: bool, output: str) -> None:
    """Run one workflow file for a person, and leave with the exit code that its outcome stands for."""
    prepared = secrecy.prepare(file)
    project, plan = prepared.require()
    if prepared.diagnostics and not quiet:
        click.echo(secrecy.redactor().text(diagnostics.as_text(prepared.diagnostics)), err=True)
    from catchment.run import start

    with stop_on_signal() as stop:
        result = start(plan, project, jobs=jobs, sinks=outcome.sinks(quiet=quiet), stop=stop)
    outcome.conclude(result, quiet=quiet, output=output)
