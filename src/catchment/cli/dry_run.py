"""`catchment run FILE --dry-run`: prints what the jobs of a workflow would compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import error_report, printing, projects
from catchment.cli.column_changes import column_changes

if TYPE_CHECKING:
    from catchment.plan.model import Plan
    from catchment.project.model import Project

LONGEST_VALUE = 60
"""How many characters of a value are printed."""


def try_plan(plan: Plan, project: Project, sample: int | None, *, quiet: bool, output: str) -> None:
    """Try the jobs of a plan, print what they would compute, and exit with 1 if one of them fails."""
    from catchment.run.dry_run import dry_run

    jobs = projects.redactor().data(dry_run(plan, project, sample=sample, tell=printing.teller(quiet=quiet)))
    if output == "json":
        printing.echo_json({"workflow": plan.workflow, "sample": sample, "jobs": jobs})
    else:
        for job in jobs:
            _echo_job(job)
        of = f"on at most {sample:,} rows of each input" if sample else "without data"
        printing.tell(f"dry run of {plan.workflow} {of}: nothing was written")
    failed = any(job["error"] for job in jobs)
    raise click.exceptions.Exit(error_report.JOB_FAILED if failed else error_report.DONE)


def _echo_job(job: Mapping[str, Any]) -> None:
    from catchment.events.messages import error_paragraph

    click.echo(click.style(f"job {job['name']}", bold=True))
    if job["reason"]:
        click.echo(f"  not tried: {job['reason']}\n")
        return
    for view in job["views"]:
        _echo_view(view)
    if job["error"]:
        click.echo(f"  {error_paragraph(job['error'])}", err=True)
    for written in job["outputs"]:
        there = written["table_columns"]
        changed = "".join(f", {each}" for each in column_changes(written["columns"], there)) if there else ""
        rows = "" if written["rows"] is None else f", {written['rows']:,} rows"
        click.echo(f"  output {written['name']}: {written['mode']} {written['dataset']}{rows}{changed}")
    click.echo()


def _echo_view(view: Mapping[str, Any]) -> None:
    source = f" of {view['dataset']}" if view["dataset"] else ""
    made = f", as job {view['from_job']} would write it" if view["from_job"] else ""
    columns = ", ".join(f"{column['name']} {column['type']}" for column in view["columns"])
    click.echo(f"  {view['kind']} {view['name']}{source}{made}: {columns}")
    if view["rows"]:
        names = [column["name"] for column in view["columns"]]
        printing.echo_table(names, (_cells(row) for row in view["rows"]))


def _cells(row: Sequence[Any]) -> tuple[object, ...]:
    return tuple(_clipped(value) for value in row)


def _clipped(value: object) -> object:
    text = printing.cell_text(value)
    return value if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
