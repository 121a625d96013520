"""`catchment validate FILE…` and `catchment schema [workflow|project]`."""

from __future__ import annotations

from pathlib import Path

import click

from catchment.cli import error_report, options, printing, projects
from catchment.run_model import Choices


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=options.WORKFLOW_FILE)
@options.variables
@options.reporting
def validate(files: tuple[Path, ...], variables: dict[str, str], where: Path, output: str) -> None:
    """Check workflow files and the project they belong to, and report every problem at once."""
    project = projects.chosen_project(where)
    prepared = [projects.prepare(file, project, Choices(variables)) for file in files]
    found = [diagnostic for each in prepared for diagnostic in (*each.diagnostics, *each.missing)]
    found = list(dict.fromkeys(found))  # files of one project share its problems
    errors = sum(diagnostic.is_error for diagnostic in found)
    hide = projects.redactor()
    if output == "json":
        printing.echo_json(hide.data(error_report.diagnostics_data(found)))
    else:
        if found:
            click.echo(hide.text(error_report.diagnostics_text(found)))
        click.echo(_verdict(len(files), errors, len(found) - errors))
    if errors:
        raise click.exceptions.Exit(error_report.WRONG_REQUEST)


def _verdict(files: int, errors: int, warnings: int) -> str:
    verdict = "valid" if not errors else f"not valid: {_count(errors, 'error')}"
    tail = f", {_count(warnings, 'warning')}" if warnings else ""
    return f"{_count(files, 'file')} checked, {verdict}{tail}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


@click.command()
@click.argument("kind", type=click.Choice(["workflow", "project"]), default="workflow")
@options.debug
def schema(kind: str) -> None:
    """Print the JSON Schema (draft-07 keywords) with which editors complete and explain."""
    if kind == "project":
        from catchment.project.grammar import project_schema

        printing.echo_json(project_schema())
    else:
        from catchment.spec.json_schema import workflow_schema

        printing.echo_json(workflow_schema())
