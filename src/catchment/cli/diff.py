"""`catchment diff FILE`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import options, printing, projects
from catchment.cli.column_changes import column_changes
from catchment.run_model import Choices

if TYPE_CHECKING:
    from catchment.plan.comparison import JobChange
    from catchment.plan.model import Plan
    from catchment.project.model import Project

_MARKS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


@click.command()
@click.argument("file", type=options.WORKFLOW_FILE)
@click.option("--run", "run_id", metavar="RUN", help="Compare with this run.  [default: the newest of the workflow]")
@click.option("--schema", is_flag=True, help="Start an engine, and compare the columns of outputs with their tables.")
@options.variables
@options.reporting
def diff(file: Path, run_id: str | None, variables: dict[str, str], where: Path, output: str, *, schema: bool) -> None:
    """Show what a workflow would do differently than its last run: jobs, SQL, inputs, outputs and settings."""
    from catchment.run.workflow_changes import changes_since

    prepared = projects.prepare(file, projects.chosen_project(where), Choices(variables))
    project, plan = prepared.require()
    found = changes_since(plan, project, run_id)
    columns = _columns(plan, project) if schema else None
    hide = projects.redactor()
    if output == "json":
        printing.echo_json(hide.data({**asdict(found), "schema": columns}))
        return
    if found.run_id is None:
        printing.tell(f"{found.workflow} has not run yet")
    else:
        printing.tell(f"compared with run {found.run_id} of {found.started:%Y-%m-%d %H:%M:%S UTC}")
    for job in found.jobs:
        _echo(job)
    for each in columns or ():
        if each["changes"]:
            click.echo(f"{each['dataset']} (job {each['job']}): {', '.join(each['changes'])}")
    if not found.jobs and not any(each["changes"] for each in columns or ()):
        click.echo("nothing has changed")


def _echo(job: JobChange) -> None:
    mark, color = _MARKS[job.change]
    click.echo(click.style(f"{mark} job {job.name}", fg=color))
    for change in job.changes:
        for line in change.lines():
            click.echo(projects.redactor().text(f"    {line}"))


def _columns(plan: Plan, project: Project) -> list[Mapping[str, Any]]:
    """The columns of each output, compared with those of its table."""
    from catchment.run.dry_run import dry_run

    return [
        {
            "job": job["name"],
            "dataset": each["dataset"],
            "columns": each["columns"],
            "table_columns": each["table_columns"],
            "changes": list(column_changes(each["columns"], each["table_columns"])),
        }
        for job in dry_run(plan, project, sample=None, tell=printing.tell)
        for each in job["outputs"]
    ]
