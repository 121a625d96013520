"""`catchment run FILE` and `catchment resume RUN`; `catchment apply -f FILE` is what other tools call `run`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from catchment.cli import failures, options, printing, projects, run_result
from catchment.cli.interaction import stop_on_signal
from catchment.cli.schedule import run_tick, tick_time
from catchment.run_model import Backfill, RunRequest

MOST_WINDOWS = 10_000


def _range(_: click.Context, __: click.Parameter, text: str | None) -> Backfill | None:
    first, dots, last = (text or "").partition("..")
    if text is not None and not (first and dots and last):
        raise click.BadParameter("write it as FROM..TO, for example 2024-01-01..2024-07-01")
    return Backfill(first, last) if text else None


@click.command()
@click.argument("file", type=options.WORKFLOW_FILE, required=False)
@click.option("--from-run", "earlier", metavar="RUN", help="Run the workflow of an earlier run again, as of its time.")
@click.option("--until-caught-up", is_flag=True, help="Let incremental jobs take windows until there is nothing new.")
@click.option("--windows", type=click.IntRange(1), metavar="N", help="Let incremental jobs take N windows at most.")
@click.option("--backfill", callback=_range, metavar="FROM..TO", help="Let incremental jobs go through a range again.")
@click.option("--wait", is_flag=True, help="Wait for another run of an incremental job, however long it takes.")
@click.option(
    "--tick", type=tick_time, metavar="TIME", hidden=True, help="Carry out a tick that a scheduler has claimed."
)
@options.project
@options.jobs
@options.quiet
@options.output("text", "json")
@options.debug
def run(
    file: Path | None,
    earlier: str | None,
    tick: datetime | None,
    where: Path,
    jobs: int | None,
    windows: int | None,
    backfill: Backfill | None,
    *,
    until_caught_up: bool,
    wait: bool,
    quiet: bool,
    output: str,
) -> None:
    """Run a workflow and report what each job wrote.

    With --from-run it is a new run of the file that the earlier run had, or of FILE, and `run_time` is the earlier
    run's.

    An incremental job takes one window per run, and goes on where the run before it ended. With --until-caught-up it
    takes one after the other until its source has nothing newer; --windows bounds them (10,000 if it is not given).
    --backfill goes through the windows of a range, whatever the state, and leaves the state alone.
    """
    most = windows or (MOST_WINDOWS if until_caught_up else 1)
    if backfill and (windows or until_caught_up):
        raise click.UsageError("--backfill goes through all windows of its range: leave out --windows and the like")
    request = RunRequest(windows=most, backfill=backfill, wait=wait)
    if earlier is not None:
        from catchment.run.history import find

        found = find(projects.open_project(file or where), earlier)
        file = file or Path(found.file)
        request = replace(request, reference_time=found.request.reference_time)
    elif file is None:
        raise click.UsageError("give a workflow FILE, or --from-run RUN")
    elif tick is not None:
        run_tick(file, tick, jobs=jobs, quiet=quiet, output=output)
        return
    run_file(file, request, jobs=jobs, quiet=quiet, output=output)


def run_file(file: Path, request: RunRequest, *, jobs: int | None, quiet: bool, output: str) -> None:
    """Run one workflow file, print what it came to and leave with its exit code."""
    prepared = projects.prepare(file)
    project, plan = prepared.require()
    if prepared.diagnostics and not quiet:
        click.echo(projects.redactor().text(failures.diagnostics_text(prepared.diagnostics)), err=True)
    if prepared.workflow and prepared.workflow.schedule and not quiet:
        printing.tell(f"{plan.workflow} runs once, now; `catchment schedule {file}` follows its schedule")
    from catchment.run import start

    sinks = run_result.sinks(quiet=quiet)
    with stop_on_signal() as stop:
        result = start(plan, project, request, jobs=jobs, sinks=sinks, stop=stop)
    run_result.conclude(result, quiet=quiet, output=output)


@click.command()
@click.option("-f", "--file", "file", required=True, type=options.WORKFLOW_FILE, help="The workflow file.")
@options.jobs
@options.quiet
@options.output("text", "json")
@options.debug
def apply(file: Path, jobs: int | None, *, quiet: bool, output: str) -> None:
    """Run a workflow: the same as `catchment run FILE`."""
    run_file(file, RunRequest(), jobs=jobs, quiet=quiet, output=output)


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
    project = projects.open_project(where)
    from catchment import run

    with stop_on_signal() as stop:
        result = run.resume(run_id, project, jobs=jobs, sinks=run_result.sinks(quiet=quiet), stop=stop)
    run_result.conclude(result, quiet=quiet, output=output)
