"""`catchment run FILE`, `catchment resume [RUN]`, and `catchment apply -f FILE`, as other tools call `run`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import detaching, error_report, options, printing, projects, run_result
from catchment.cli.interaction import stop_on_signal
from catchment.cli.schedule import run_tick, tick_time
from catchment.run_model import Backfill, Choices, RunRequest, new_run_id

if TYPE_CHECKING:
    from catchment.plan.model import Plan
    from catchment.plan.preparation import Prepared
    from catchment.project.model import Project

MAX_WINDOWS = 10_000
INCREMENTAL = ("backfill", "until_caught_up", "windows", "wait")
"""Options that control how incremental jobs run."""
NOT_OF_TICKS = (
    *INCREMENTAL,
    *("select", "exclude", "variables", "dry_run", "with_data", "sample", "notify"),
    *("earlier", "run_id", "detach", "service_name", "restart_policy"),
)
"""Options that the run of a tick does not take."""


def _range(_: click.Context, __: click.Parameter, text: str | None) -> Backfill | None:
    first, dots, last = (text or "").partition("..")
    if text is not None and not (first and dots and last):
        raise click.BadParameter("write it as FROM..TO, for example 2024-01-01..2024-07-01")
    return Backfill(first, last) if text else None


@click.command()
@click.argument("file", type=options.WORKFLOW_FILE, required=False)
@click.option(
    "--from-run", "earlier", metavar="RUN", help="Run the workflow of an earlier run again, with its reference time."
)
@click.option("--until-caught-up", is_flag=True, help="Let incremental jobs read windows until there is nothing new.")
@click.option("--windows", type=click.IntRange(1), metavar="N", help="Let incremental jobs read at most N windows.")
@click.option("--backfill", callback=_range, metavar="FROM..TO", help="Let incremental jobs read a range again.")
@options.selection
@options.variables
@click.option("--dry-run", is_flag=True, help="Look at what each step would compute, and write nothing.")
@click.option("--with-data", is_flag=True, help="With --dry-run: on a sample of the inputs, with the first rows.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="A dry run with data, on at most N rows of each input.  [default with --with-data: 1000]",
)
@click.option("--wait", is_flag=True, help="Wait for other runs of the same incremental job, however long they take.")
@click.option("--run-id", metavar="RUN", hidden=True, help="The id of the run; one that has begun goes on.")
@click.option("--tick", type=tick_time, metavar="TIME", hidden=True, help="Run a tick that a scheduler has claimed.")
@options.detach
@options.notify
@options.project
@options.jobs
@options.quiet
@options.output("text", "json")
@options.debug
def run(
    file: Path | None,
    earlier: str | None,
    run_id: str | None,
    tick: datetime | None,
    where: Path,
    jobs: int | None,
    windows: int | None,
    backfill: Backfill | None,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    variables: dict[str, str],
    sample: int | None,
    notify: tuple[str, ...],
    *,
    dry_run: bool,
    with_data: bool,
    until_caught_up: bool,
    wait: bool,
    quiet: bool,
    output: str,
) -> None:
    """Run a workflow and report what each job wrote.

    With --from-run, a new run of the earlier run's file (or of FILE) starts, and `run_time` is the reference time of
    the earlier run.

    An incremental job reads one window per run and continues where the last run ended. With --until-caught-up it reads
    windows until its source has nothing newer, at most as many as --windows says (10,000 if not given). --backfill
    reads the windows of a range, whatever the state is, and does not change the state.

    With --dry-run, the jobs run up to their outputs and nothing is written: the columns of each input and step are
    shown, and with --with-data or --sample also their first rows.

    With --select or --exclude, only some jobs run, in their order, and the others are named.
    """
    most = windows or (MAX_WINDOWS if until_caught_up else 1)
    if backfill and (windows or until_caught_up):
        raise click.UsageError("--backfill reads all windows of its range: leave out --windows and --until-caught-up")
    if tick is not None and file is not None:
        options.refuse(options.given(*NOT_OF_TICKS), "a tick decides this itself", "leave it out")
        run_tick(file, tick, projects.chosen_project(where), jobs=jobs, quiet=quiet, output=output)
        return
    request = RunRequest(windows=most, backfill=backfill, wait=wait)
    choices, recorded = Choices(variables, select, exclude), None
    project = projects.chosen_project(where)
    if earlier is not None:
        options.refuse(options.given("tick"), "it needs a workflow FILE", "leave it out")
        from catchment.run.run_history import find

        found = find(project or projects.open_project(file or where), earlier)
        file = file or Path(found.file)
        request = replace(request, reference_time=found.request.reference_time)
        recorded = found.choices
    elif file is None:
        raise click.UsageError("give a workflow FILE, or --from-run RUN")
    asked = Asked(request, choices, recorded, notify)
    if dry_run or sample or with_data:
        _dry_run(file, asked, project, sample, dry_run=dry_run, with_data=with_data, quiet=quiet, output=output)
        return
    run_file(file, asked, project, run_id, jobs=jobs, quiet=quiet, output=output)


def _dry_run(
    file: Path,
    asked: Asked,
    project: Project | None,
    sample: int | None,
    *,
    dry_run: bool,
    with_data: bool,
    quiet: bool,
    output: str,
) -> None:
    from catchment.cli.dry_run import try_plan
    from catchment.plan.missing_inputs import require_inputs
    from catchment.run.dry_run import SAMPLE_ROWS

    if with_data and not dry_run:
        options.refuse(options.given("with_data"), "it is for --dry-run", "add --dry-run, or leave it out")
    refused = options.given(*INCREMENTAL, "run_id", "jobs", "notify", "detach", "service_name", "restart_policy")
    options.refuse(refused, "a dry run writes nothing, and runs one job after the other", "leave it out")
    prepared = projects.prepare(file, project, asked.choices, asked.recorded)
    project, plan = prepared.require()
    require_inputs(plan)
    if not quiet:
        tell_findings(prepared)
    try_plan(plan, project, sample or (SAMPLE_ROWS if with_data else None), quiet=quiet, output=output)


def tell_findings(prepared: Prepared) -> None:
    """Print the warnings about a workflow, and which of its jobs are left out."""
    if prepared.diagnostics:
        click.echo(projects.redactor().text(error_report.diagnostics_text(prepared.diagnostics)), err=True)
    if prepared.plan and prepared.plan.choices.left_out:
        printing.tell(f"left out: {', '.join(prepared.plan.choices.left_out)}")


@dataclass(frozen=True)
class Asked:
    """What the command line asks of a run."""

    request: RunRequest
    choices: Choices
    recorded: Choices | None = None
    """The choices of an earlier run, which apply where `choices` has none."""
    notify: tuple[str, ...] = ()


def run_file(
    file: Path,
    asked: Asked,
    project: Project | None = None,
    run_id: str | None = None,
    *,
    jobs: int | None,
    quiet: bool,
    output: str,
) -> None:
    """Run one workflow file, or start a service that does; print the result and exit with its exit code."""
    from catchment.plan.missing_inputs import require_inputs
    from catchment.run.notify.sending import check_hooks

    prepared = projects.prepare(file, project, asked.choices, asked.recorded)
    project, plan = prepared.require()
    require_inputs(plan)
    # A stream, too, has only one active run, so `--wait` applies to it.
    streams = any(job.stream is not None for job in plan.jobs)
    _check_incremental(plan, options.given(*(name for name in INCREMENTAL if not (streams and name == "wait"))))
    if not quiet:
        tell_findings(prepared)
    if prepared.workflow and prepared.workflow.schedule and not quiet:
        printing.tell(f"{plan.workflow} runs once, now; `catchment schedule {file}` follows its schedule")
    check_hooks(project, asked.notify)
    # The id is chosen here, so that the service continues the same run if its process has to be restarted.
    if detaching.detached(
        plan.workflow, project, output=output, more=("--run-id", new_run_id(datetime.now(timezone.utc)))
    ):
        return
    from catchment.run import start

    sinks, tell = run_result.sinks(quiet=quiet), printing.teller(quiet=quiet)
    with stop_on_signal() as stop:
        result = start(
            *(plan, project, asked.request),
            jobs=jobs,
            sinks=sinks,
            stop=stop,
            run_id=run_id,
            notify=asked.notify,
            tell=tell,
        )
    run_result.conclude(result, project, quiet=quiet, output=output)


def _check_incremental(plan: Plan, asked: list[str]) -> None:
    """Refuse options for incremental jobs if there are none, and name the jobs that they do not apply to."""
    others = [job.name for job in plan.jobs if not job.moves]
    if len(others) == len(plan.jobs):
        reason = f"workflow {plan.workflow} has no incremental job"
        options.refuse(asked, reason, "leave it out, or make a job incremental: see docs/how-to/incremental.md")
    elif asked and others:
        printing.tell(f"{', '.join(asked)}: for incremental jobs only; these run as always: {', '.join(others)}")


@click.command()
@click.option("-f", "--file", "file", required=True, type=options.WORKFLOW_FILE, help="The workflow file.")
@options.selection
@options.variables
@options.project
@options.jobs
@options.quiet
@options.output("text", "json")
@options.debug
def apply(
    file: Path,
    where: Path,
    jobs: int | None,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    variables: dict[str, str],
    *,
    quiet: bool,
    output: str,
) -> None:
    """Run a workflow: the same as `catchment run FILE`."""
    asked = Asked(RunRequest(), Choices(variables, select, exclude))
    run_file(file, asked, projects.chosen_project(where), jobs=jobs, quiet=quiet, output=output)


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@options.notify
@options.project
@options.jobs
@options.quiet
@options.output("text", "json")
@options.debug
def resume(
    run_id: str | None, notify: tuple[str, ...], where: Path, jobs: int | None, *, quiet: bool, output: str
) -> None:
    """Run the jobs that did not succeed in an earlier run, or in the newest one; jobs that succeeded are kept.

    The workflow file is read again, so corrections take effect.
    """
    project = projects.open_project(where)
    from catchment import run
    from catchment.run import run_history

    found = run_history.find(project, run_id) if run_id else run_history.newest(project)
    if found.status == "succeeded" and not quiet:
        printing.tell(f"run {found.id} of {found.workflow} has succeeded: there is nothing to resume")
    elif run_id is None and not quiet:
        printing.tell(f"run {found.id} of {found.workflow} is resumed")
    with stop_on_signal() as stop:
        sinks, tell = run_result.sinks(quiet=quiet), printing.teller(quiet=quiet)
        result = run.resume(found.id, project, jobs=jobs, sinks=sinks, stop=stop, notify=notify, tell=tell)
    run_result.conclude(result, project, quiet=quiet, output=output)
