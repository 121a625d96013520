"""`catchment run FILE`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from catchment.cli import diagnostics, options, outcome, printing, secrecy
from catchment.cli.interruption import stop_on_signal
from catchment.cli.tick import run_tick, tick_time


@click.command()
@click.argument("file", type=options.WORKFLOW_FILE, required=False)
@click.option("--from-run", "earlier", metavar="RUN", help="Run the workflow of an earlier run again, as of its time.")
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
    *,
    quiet: bool,
    output: str,
) -> None:
    """Run a workflow and report what each job wrote.

    With --from-run it is a new run of the file that the earlier run had, or of FILE, and `run_time` is the earlier
    run's.
    """
    if earlier is None:
        if file is None:
            raise click.UsageError("give a workflow FILE, or --from-run RUN")
        if tick is not None:
            run_tick(file, tick, jobs=jobs, quiet=quiet, output=output)
        else:
            run_file(file, jobs=jobs, quiet=quiet, output=output)
        return
    from catchment.run.replay import find

    replayed = find(secrecy.open_project(file or where), earlier)
    run_file(file or replayed.file, as_of=replayed.reference_time, jobs=jobs, quiet=quiet, output=output)


def run_file(file: Path, *, jobs: int | None, quiet: bool, output: str, as_of: str | None = None) -> None:
    """Run one workflow file for a person, and leave with the exit code that its outcome stands for."""
    prepared = secrecy.prepare(file)
    project, plan = prepared.require()
    if prepared.diagnostics and not quiet:
        click.echo(secrecy.redactor().text(diagnostics.as_text(prepared.diagnostics)), err=True)
    if prepared.workflow and prepared.workflow.schedule and not quiet:
        printing.tell(f"{plan.workflow} runs once, now; `catchment schedule {file}` follows its schedule")
    from catchment.run import start

    with stop_on_signal() as stop:
        result = start(plan, project, as_of=as_of, jobs=jobs, sinks=outcome.sinks(quiet=quiet), stop=stop)
    outcome.conclude(result, quiet=quiet, output=output)
