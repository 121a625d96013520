"""`catchment schedule FILE…`, `catchment ticks [WORKFLOW]`, and `run FILE --tick TIME`, which the scheduler starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import detaching, error_report, options, printing, projects, run_result
from catchment.cli.interaction import stop_on_signal
from catchment.own_program import own_program
from catchment.timestamps import as_written

if TYPE_CHECKING:
    from catchment.project.model import Project
    from catchment.run.schedule.scheduled_workflows import ScheduledWorkflow
    from catchment.run.schedule.tick_reports import TickReport


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=options.WORKFLOW_FILE)
@click.option("--dry-run", is_flag=True, help="List the next ticks without running anything.")
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How many ticks of each file --dry-run lists.",
)
@options.detach
@options.project
@options.jobs
@options.quiet
@options.output("text", "json")
@options.debug
def schedule(
    files: tuple[Path, ...], count: int, where: Path, jobs: int | None, *, dry_run: bool, quiet: bool, output: str
) -> None:
    """Run workflows by their schedules until stopped.

    Several schedulers may follow the same files: each tick runs once. Standard output gets a line for each finished
    tick. The first Ctrl-C cancels the running runs and waits for them, the second does not wait.
    """
    from catchment.run.schedule.scheduled_workflows import check_together

    if not dry_run:
        options.refuse(
            options.given("count"), "it is for --dry-run, which lists ticks", "add --dry-run, or leave it out"
        )
    followed = [_read(file, where, quiet=quiet) for file in files]
    check_together(followed)
    if dry_run:
        _echo_next(followed, count, output)
        return
    if detaching.detached(followed[0].workflow, followed[0].project, output=output):
        return
    tell = _silent if quiet else _tell
    idle = _follow(followed, jobs, tell=tell, settled=lambda tick: _echo_settled(tick, output, quiet=quiet))
    raise click.exceptions.Exit(error_report.DONE if idle else error_report.INTERRUPTED)


def _read(file: Path, where: Path, *, quiet: bool) -> ScheduledWorkflow:
    from catchment.run.schedule.scheduled_workflows import read

    prepared = projects.prepare(file, projects.chosen_project(where))
    found = read(file, prepared, where if options.given("where") else None)
    if prepared.diagnostics and not quiet:
        _tell(error_report.diagnostics_text(prepared.diagnostics))
    return found


def _follow(
    followed: Sequence[ScheduledWorkflow],
    jobs: int | None,
    *,
    tell: Callable[[str], None],
    settled: Callable[[TickReport], None],
) -> bool:
    from catchment.run.schedule.scheduler import Scheduler
    from catchment.store import open_store

    def command(each: ScheduledWorkflow, tick: datetime) -> Sequence[str]:
        limit = () if jobs is None else ("--jobs", str(jobs))
        place = () if each.where is None else ("--project", str(each.where))
        env = () if each.project.environment is None else ("--env", each.project.environment)
        run = (*own_program("catchment"), "run", str(each.file), "--tick", tick.isoformat())
        return (*run, *limit, *place, *env)

    with stop_on_signal() as stop, open_store(followed[0].project.metastore) as store:
        return Scheduler(followed, store, command, tell=tell, settled=settled).run(stop)


def _echo_next(followed: Sequence[ScheduledWorkflow], count: int, output: str) -> None:
    now = datetime.now(timezone.utc)
    coming = sorted(
        ((tick, each) for each in followed for tick in islice(each.calendar.after(now), count)),
        key=lambda pair: (pair[0], pair[1].workflow),
    )
    lines: list[dict[str, Any]] = [
        {"workflow": each.workflow, "file": str(each.file), "tick": tick, "local": each.calendar.local(tick)}
        for tick, each in coming
    ]
    if output == "json":
        printing.echo_json({"ticks": lines})
    elif lines:
        rows = ((f"{line['local']:%a %Y-%m-%d %H:%M:%S %Z}", line["workflow"], line["file"]) for line in lines)
        printing.echo_table(("tick", "workflow", "file"), rows)
    else:
        printing.tell("no tick is left")


def _echo_settled(tick: TickReport, output: str, *, quiet: bool) -> None:
    data = projects.redactor().data(asdict(tick))
    if data["error"]:
        from catchment.events.messages import error_paragraph

        _tell(f"{tick.workflow}: {error_paragraph(data['error'])}")
    if output == "json":
        printing.echo_json(data, indent=None)
    else:
        click.echo(_line(tick))
    if not quiet and tick.reason:
        _tell(f"{tick.workflow}: tick {tick.tick:%Y-%m-%d %H:%M:%S UTC} was {tick.status}: {tick.reason}")


def _line(tick: TickReport) -> str:
    ran = f", run {tick.run_id} after {tick.seconds:.1f} s" if tick.run_id else ""
    return f"{tick.tick:%Y-%m-%d %H:%M:%S UTC} {tick.workflow}: {tick.status}{ran}"


def _tell(line: str) -> None:
    printing.tell(projects.redactor().text(line))


def _silent(_: str) -> None:
    """Print nothing."""


@click.command()
@click.argument("workflow", metavar="[WORKFLOW]", required=False)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="List at most this many ticks."
)
@options.reporting
def ticks(workflow: str | None, limit: int, where: Path, output: str) -> None:
    """List the newest ticks of schedules and the result of each."""
    from catchment.run.schedule import tick_reports

    listed = tick_reports.newest(projects.open_project(where), limit, workflow)
    if output == "json":
        printing.echo_json(projects.redactor().data({"ticks": [asdict(tick) for tick in listed]}))
    elif not listed:
        printing.tell("no ticks yet")
    else:
        printing.echo_table(("tick", "workflow", "status", "run", "seconds", "why"), map(_row, listed))


def _row(tick: TickReport) -> tuple[object, ...]:
    at = tick.tick.strftime("%Y-%m-%d %H:%M:%S UTC")
    why = tick.reason or (tick.error.message if tick.error else None)
    return at, tick.workflow, tick.status, tick.run_id, round(tick.seconds, 1), projects.redactor().text(why or "")


def tick_time(text: str) -> datetime:
    """Parse the time of a tick; raises ValueError if it is not a time or has no offset from UTC."""
    tick = as_written(text)
    if tick.tzinfo is None:
        raise ValueError(text)
    return tick


def run_tick(
    file: Path, tick: datetime, project: Project | None, *, jobs: int | None, quiet: bool, output: str
) -> None:
    """Run one tick, print its result and exit with its exit code."""
    from catchment.run.run_options import RunOptions
    from catchment.run.schedule import tick_process
    from catchment.run.schedule.calendar import calendar_of

    prepared = projects.prepare(file, project)
    project, plan = prepared.require()
    schedule = prepared.workflow and prepared.workflow.schedule
    end = calendar_of(schedule).end if schedule else None
    with stop_on_signal() as stop:
        options = RunOptions(jobs, run_result.sinks(quiet=quiet), stop, due=tick)
        result = tick_process.run_tick(tick, plan, project, options, end)
    if result is None:
        printing.tell(f"the tick {tick.isoformat()} of {plan.workflow} was cancelled before its run began")
        raise click.exceptions.Exit(error_report.INTERRUPTED)
    run_result.conclude(result, project, quiet=quiet, output=output)
