"""`catchment run FILE`, and `catchment apply -f FILE`, which people who come from other tools type for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click

from catchment.cli import diagnostics, options, outcome, printing, secrecy
from catchment.cli.prompts import stop_on_signal
from catchment.cli.ticks import run_tick, tick_time

MOST_WINDOWS = 10_000


def _range(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, str] | None:
    first, dots, last = (text or "").partition("..")
    if text is not None and not (first and dots and last):
        raise click.BadParameter("write it as FROM..TO, for example 2024-01-01..2024-07-01")
    return (first, last) if text else None


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
    backfill: tuple[str, str] | None,
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
    asked = Asked(jobs=jobs, windows=most, backfill=backfill, wait=wait, quiet=quiet, output=output)
    if earlier is None:
        if file is None:
            raise click.UsageError("give a workflow FILE, or --from-run RUN")
        if tick is not None:
            run_tick(file, tick, jobs=jobs, quiet=quiet, output=output)
        else:
            run_file(file, asked)
        return
    from catchment.run.start import find

    replayed = find(secrecy.open_project(file or where), earlier)
    run_file(file or replayed.file, asked, as_of=replayed.reference_time)


@dataclass(frozen=True)
class Asked:
    """What a person chose beside the workflow itself."""

    jobs: int | None = None
    windows: int = 1
    backfill: tuple[str, str] | None = None
    wait: bool = False
    quiet: bool = False
    output: str = "text"


def run_file(file: Path, asked: Asked, as_of: str | None = None) -> None:
    """Run one workflow file for a person, and leave with the exit code that its outcome stands for."""
    prepared = secrecy.prepare(file)
    project, plan = prepared.require()
    if prepared.diagnostics and not asked.quiet:
        click.echo(secrecy.redactor().text(diagnostics.as_text(prepared.diagnostics)), err=True)
    if prepared.workflow and prepared.workflow.schedule and not asked.quiet:
        printing.tell(f"{plan.workflow} runs once, now; `catchment schedule {file}` follows its schedule")
    from catchment.run import start

    sinks = outcome.sinks(quiet=asked.quiet)
    with stop_on_signal() as stop:
        result = start(
            *(plan, project),
            as_of=as_of,
            jobs=asked.jobs,
            sinks=sinks,
            stop=stop,
            windows=asked.windows,
            backfill=asked.backfill,
            wait=asked.wait,
        )
    outcome.conclude(result, quiet=asked.quiet, output=asked.output)


@click.command()
@click.option("-f", "--file", "file", required=True, type=options.WORKFLOW_FILE, help="The workflow file.")
@options.jobs
@options.quiet
@options.output("text", "json")
@options.debug
def apply(file: Path, jobs: int | None, *, quiet: bool, output: str) -> None:
    """Run a workflow: the same as `catchment run FILE`."""
    run_file(file, Asked(jobs=jobs, quiet=quiet, output=output))
