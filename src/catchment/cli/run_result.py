"""Prints the progress and the result of a run, and turns the result into an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from catchment.cli import error_report, printing, projects
from catchment.errors import LeaseHeld

if TYPE_CHECKING:
    from catchment.events.hub import Sink
    from catchment.run.results import JobResult, Run

_COLUMNS = ("job", "status", "attempts", "seconds", "output", "rows", "files", "snapshot")


def sinks(*, quiet: bool) -> Sequence[Sink]:
    """The sinks that print the progress of a run."""
    if quiet:
        return ()
    from catchment.events.console import Console

    return (Console(),)


def conclude(run: Run, *, quiet: bool, output: str) -> None:
    """Print the result of a run and exit with its exit code."""
    if quiet:
        echo_errors(run)
    echo(run, output)
    raise click.exceptions.Exit(exit_code(run))


def echo(run: Run, output: str) -> None:
    """Print a run as a table or as JSON."""
    if output == "json":
        printing.echo_json(projects.redactor().data(asdict(run)))
        return
    click.echo(f"run {run.run_id} of {run.workflow}: {run.status} after {run.seconds:.1f} s\n")
    printing.echo_table(_COLUMNS, (row for job in run.jobs for row in _rows(job)))


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
    head: tuple[object, ...] = (job.name, job.status, job.attempts, round(job.seconds, 1))
    if not job.outputs:
        yield (*head, None, None, None, None)
    for entry in job.outputs:
        yield (*head, entry.dataset, entry.rows, entry.files, entry.snapshot_id)
        head = (None, None, None, None)
