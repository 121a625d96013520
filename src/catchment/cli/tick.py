"""`catchment run FILE --tick TIME`: what `catchment schedule` starts for each tick that it has claimed."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from catchment.cli import failures, outcome, printing, secrecy
from catchment.cli.interruption import stop_on_signal


def tick_time(text: str) -> datetime:
    """A tick as the command line has it; raises ValueError where that is no time, or has no offset from UTC."""
    tick = datetime.fromisoformat(text)
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
