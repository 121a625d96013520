"""Prints the progress and the result of a run, and turns the result into an exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import error_report, printing, projects
from catchment.errors import LeaseHeld

if TYPE_CHECKING:
    from catchment.events.hub import Sink
    from catchment.project.model import Project
    from catchment.run.results import JobResult, Run

_COLUMNS = ("job", "status", "attempts", "seconds", "output", "rows", "files", "snapshot")


def sinks(*, quiet: bool) -> Sequence[Sink]:
    """The sinks that print the progress of a run."""
    if quiet:
        return ()
    from catchment.events.console import Console

    return (Console(),)


def conclude(run: Run, project: Project, *, quiet: bool, output: str) -> None:
    """Print the result of a run, and the command that resumes it if it did not succeed; exit with its exit code."""
    if quiet:
        echo_errors(run)
    echo(run, output)
    if run.status != "succeeded":
        sys.stdout.flush()  # so that the command is the last line if both streams go to the same place
        printing.tell(f"to go on: catchment resume {run.run_id}{_elsewhere(project)}")
    raise click.exceptions.Exit(exit_code(run))


def _elsewhere(project: Project) -> str:
    """The options that name the project, if it is not found from the working directory, and its environment."""
    here = Path.cwd()
    found = here.is_relative_to(project.root) if project.file else here == project.root
    place = "" if found else f" --project {shlex.quote(str(project.root))}"
    return f"{place} --env {project.environment}" if project.environment else place


def echo(run: Run, output: str, *, indent: int | None = 2) -> None:
    """Print a run as a table or as JSON; without an indent, the JSON is on one line."""
    if output == "json":
        printing.echo_json(projects.redactor().data(asdict(run)), indent=indent)
        return
    where = f" in {run.environment}" if run.environment else ""
    took = f"{run.seconds:.1f} s{_starting(run)}"
    click.echo(f"run {run.run_id} of {run.workflow}{where}: {run.status} after {took}\n")
    printing.echo_table(_COLUMNS, (row for job in run.jobs for row in _rows(job)))
    if bad := [(job.name, each.dataset, each.bad_rows) for job in run.jobs for each in job.inputs if each.bad_rows]:
        click.echo()
        printing.echo_table(("job", "input", "bad rows"), bad)
    if run.variables:
        click.echo(f"\nvariables: {', '.join(f'{name}={value}' for name, value in run.variables.items())}")
    if run.left_out:
        click.echo(f"\nleft out: {', '.join(run.left_out)}")


def _starting(run: Run) -> str:
    """How much of the run's time it took to start its engines."""
    waited = max((job.engine_seconds for job in run.jobs if not job.kept), default=0.0)
    return f", {waited:.1f} s of it to start Spark" if round(waited, 1) else ""


def echo_errors(run: Run) -> None:
    """Print on standard error why jobs failed."""
    from catchment.events.messages import error_paragraph

    for job in run.jobs:
        if job.error:
            click.echo(projects.redactor().text(f"{job.name}: {error_paragraph(asdict(job.error))}"), err=True)


def exit_code(run: Run) -> int:
    """0 done, 1 a job failed, 4 another run of the job is still running, 130 interrupted."""
    if run.status == "succeeded":
        return error_report.DONE
    if {job.error.code for job in run.jobs if job.error} == {LeaseHeld.code}:
        return error_report.LEASE_HELD
    return error_report.INTERRUPTED if run.status == "cancelled" else error_report.JOB_FAILED


def _rows(job: JobResult) -> Iterator[tuple[object, ...]]:
    status = "kept" if job.kept else job.status
    head: tuple[object, ...] = (job.name, status, job.attempts, round(job.seconds, 1))
    if not job.outputs:
        yield (*head, None, None, None, None)
    for entry in job.outputs:
        yield (*head, entry.dataset, entry.rows, entry.files, entry.snapshot_id)
        head = (None, None, None, None)
