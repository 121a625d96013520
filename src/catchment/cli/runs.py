"""`catchment runs [RUN]` and `catchment logs [RUN]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import options, printing, projects, run_result, streams

if TYPE_CHECKING:
    from catchment.run.results import Run, RunSummary


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="List at most this many runs.")
@click.option("--watch", is_flag=True, help="Refresh every second until Ctrl-C, or until the run has ended.")
@options.reporting
def runs(run_id: str | None, limit: int, where: Path, output: str, *, watch: bool) -> None:
    """List the newest runs of a project, or show one run with its jobs and errors."""
    from catchment.run import run_history

    project = projects.open_project(where)
    if run_id is not None:
        options.refuse(options.given("limit"), "one run is shown", "leave it out, or leave out the run")
        looks = run_history.watch_run(project, run_id)
        printing.refresh(looks if watch else islice(looks, 1), lambda run: _echo_run(run, output, watch=watch))
        return
    lists = run_history.watch(project, limit)
    printing.refresh(lists if watch else islice(lists, 1), lambda listed: _echo_list(listed, output, watch=watch))


def _echo_run(run: Run, output: str, *, watch: bool) -> None:
    run_result.echo(run, output, indent=None if watch else 2)
    run_result.echo_errors(run)


def _echo_list(listed: Sequence[RunSummary], output: str, *, watch: bool) -> None:
    if output == "json":
        printing.echo_json({"runs": [asdict(run) for run in listed]}, indent=None if watch else 2)
    elif not listed:
        click.echo("no runs yet", err=True)
    else:
        place = ("environment",) if any(run.environment for run in listed) else ()
        columns = ("run", "workflow", *place, "status", "jobs", "started", "seconds")
        printing.echo_table(columns, (_row(run, placed=bool(place)) for run in listed))


def _row(run: RunSummary, *, placed: bool) -> tuple[object, ...]:
    started = run.started.strftime("%Y-%m-%d %H:%M:%S UTC")
    head = (run.run_id, run.workflow, *((run.environment,) if placed else ()))
    return *head, run.status, f"{run.succeeded}/{run.jobs}", started, round(run.seconds, 1)


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--job", help="Only the log files of this job.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run has ended, or until Ctrl-C.")
@options.reporting
def logs(run_id: str | None, job: str | None, where: Path, output: str, *, follow: bool) -> None:
    """Print the log files of a run, or of the newest run if none is named."""
    from catchment.run import run_history, run_logs

    project = projects.open_project(where)
    run_id = run_id or run_history.newest(project).id
    files = run_logs.log_files(project, run_id, job)
    if output == "json":
        options.refuse(options.given("follow"), "with --output json the paths are printed", "leave one of them out")
        printing.echo_json({"files": [str(file) for file in files]})
        return
    if follow:
        _follow(run_logs.follow(project, run_id, job))
        return
    for file in files:
        click.echo(click.style(f"==> {file} <==", bold=True))
        click.echo(file.read_text(encoding="utf-8", errors="replace"))


def _follow(pieces: Iterator[tuple[Path, str]]) -> None:
    """Print pieces of several files as they arrive, with the name of the file whenever it changes."""
    shown: Path | None = None
    for file, text in pieces:
        if file != shown:
            click.echo(click.style(f"==> {file} <==", bold=True))
        click.echo(text, nl=False)
        shown = file
        if streams.nobody_reads():
            return
