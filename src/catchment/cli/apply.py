"""`catchment apply -f FILE`: what people who come from other tools type for `run`."""

from __future__ import annotations

from pathlib import Path

import click

from catchment.cli import options
from catchment.cli.run import Asked, run_file


@click.command()
@click.option("-f", "--file", "file", required=True, type=options.WORKFLOW_FILE, help="The workflow file.")
@options.jobs
@options.quiet
@options.output("text", "json")
@options.debug
def apply(file: Path, jobs: int | None, *, quiet: bool, output: str) -> None:
    """Run a workflow: the same as `catchment run FILE`."""
    run_file(file, Asked(jobs=jobs, quiet=quiet, output=output))
