"""`catchment ticks [WORKFLOW]`, and `catchment run FILE --tick TIME`, which `catchment schedule` starts."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import failures, options, outcome, printing, secrecy
from catchment.cli.prompts import stop_on_signal
from catchment.timestamps import as_written

if TYPE_CHECKING:
    from catchment.run.schedule.reports import TickReport


@click.command()
@click.argument("workflow", metavar="[WORKFLOW]", required=False)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="List at most this many ticks."
)
@options.reporting
def ticks(workflow: str | None, limit: int, where: Path, output: str) -> None:
    """List the newest ticks of schedules and what became of each."""
    from catchment.run.schedule import reports

    listed = reports.newest(secrecy.open_project(where), limit, workflow)
    if output == "json":
        printing.echo_json(secrecy.redactor().data({"ticks": [asdict(tick) for tick in listed]}))
    elif not listed:
        printing.tell("no ticks yet")
    else:
        printing.echo_table(("tick", "workflow", "status", "run", "seconds", "why"), map(_row, listed))


def _row(tick: TickReport) -> tuple[object, ...]:
    at = tick.tick.strftime("%Y-%m-%d %H:%M:%S UTC")
    why = tick.reason or (tick.error.message if tick.error else None)
    return at, tick.workflow, tick.status, tick.run_id, round(tick.seconds, 1), secrecy.redactor().text(why or "")


def tick_time(text: str) -> datetime:
    """A tick as the command line has it; raises ValueError where that is no time, or has no offset from UTC."""
    tick = as_written(text)
    if tick.tzinfo is None:
        raise ValueError(text)
    return tick


def run_tick(file: Path, tick: datetime, *, jobs: int | None, quiet: bool, output: str) -> None:
    """Carry out the run of one tick, and leave with the exit code that its outcome stands for."""
    from catchment.run.options import Options
    from catchment.run.schedule import ticking
    from catchment.run.schedule.calendar import calendar_of

    prepared = secrecy.prepare(file)
    project, plan = prepared.require()
    schedule = prepared.workflow and prepared.workflow.schedule
    end = calendar_of(schedule).end if schedule else None
    with stop_on_signal() as stop:
        options = Options(jobs, outcome.sinks(quiet=quiet), stop)
        result = ticking.run_tick(tick, plan, project, options, end)
    if result is None:
        printing.tell(f"the tick {tick.isoformat()} of {plan.workflow} was called off before its run began")
        raise click.exceptions.Exit(failures.INTERRUPTED)
    outcome.conclude(result, quiet=quiet, output=output)
