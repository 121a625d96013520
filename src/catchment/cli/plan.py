"""`catchment plan FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import error_report, options, printing, projects
from catchment.run_model import Choices

if TYPE_CHECKING:
    from catchment.plan.model import JobPlan, OutputPlan, Plan


@click.command()
@click.argument("file", type=options.WORKFLOW_FILE)
@options.selection
@options.variables
@options.reporting
def plan(
    file: Path, select: tuple[str, ...], exclude: tuple[str, ...], variables: dict[str, str], where: Path, output: str
) -> None:
    """Show the jobs in order, their engines, and which tables have several writers."""
    prepared = projects.prepare(file, projects.chosen_project(where), Choices(variables, select, exclude))
    _, made = prepared.require()
    hide = projects.redactor()
    if output == "json":
        printing.echo_json(hide.data(_data(made)))
        return
    if told := (*prepared.diagnostics, *prepared.missing):
        click.echo(hide.text(error_report.diagnostics_text(told)), err=True)
    click.echo(hide.text(f"workflow {made.workflow} ({made.file})\n"))
    printing.echo_table(("job", "after", "engine", "reads", "writes"), hide.data([_row(job) for job in made.jobs]))
    click.echo(hide.text(_footer(made)))


def _data(made: Plan) -> Any:
    from pydantic import TypeAdapter

    from catchment.plan.model import Plan

    return TypeAdapter(Plan).dump_python(made, mode="json", exclude={"definition"})


def _row(job: JobPlan) -> tuple[str, ...]:
    reads = "\n".join(dict.fromkeys(entry.dataset.address for entry in job.inputs))
    writes = "\n".join(_write(entry) for entry in job.writes)
    return job.name, ", ".join(job.depends_on), job.engine, reads, writes


def _write(output: OutputPlan) -> str:
    return f"{output.dataset.address} ({output.dataset.format}, {output.mode})"


def _footer(made: Plan) -> str:
    lines = [""]
    if made.choices.environment:
        lines.append(f"environment {made.choices.environment}")
    if made.choices.variables:
        lines.append(f"variables {', '.join(f'{name}={value}' for name, value in made.choices.variables.items())}")
    if made.choices.left_out:
        lines.append(f"left out: {', '.join(made.choices.left_out)}")
    for shared in made.shared:
        lines.append(f"shared {shared.address}: {', '.join(shared.jobs)}: {shared.effect}")
    for job in made.jobs:
        if job.stream is not None:
            until = "until it is stopped" if job.stream.endless else "until everything is read that is there"
            lines.append(f"job {job.name} is a stream and runs {until}; its checkpoint is {job.stream.checkpoint}")
    for placed in made.placed:
        lines.append(f"job {placed.job} runs on engine {placed.engine}: {placed.reason}")
    for entry in made.engines:
        lines.append(f"engine {entry.key}: Spark {entry.engine.spark} on {entry.engine.master}")
    return "\n".join(lines)
