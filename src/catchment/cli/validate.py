"""`catchment validate FILE…` and `catchment schema [workflow|project]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import error_report, file_changes, options, printing, projects
from catchment.errors import InvalidFiles
from catchment.run_model import Choices

if TYPE_CHECKING:
    from catchment.plan.preparation import Prepared


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=options.WORKFLOW_FILE)
@click.option("--watch", is_flag=True, help="Check again whenever one of the files is saved, until Ctrl-C.")
@options.variables
@options.reporting
def validate(files: tuple[Path, ...], variables: dict[str, str], where: Path, output: str, *, watch: bool) -> None:
    """Check workflow files and the project they belong to, and report every problem at once."""
    if watch:
        printing.refresh(_checks(files, variables, where), lambda checked: _echo(checked, output, watch=True))
        return
    if _echo(next(_checks(files, variables, where)), output, watch=False):
        raise click.exceptions.Exit(error_report.WRONG_REQUEST)


def _checks(files: Sequence[Path], variables: dict[str, str], where: Path) -> Iterator[Sequence[Prepared]]:
    """Check the files, and check them again whenever one of the files that were read is saved."""
    read = set(files)
    while True:
        # Taken before the files are read, so that a file saved meanwhile is checked again.
        seen = file_changes.stamps(read)
        prepared = _prepared(files, variables, where)
        yield prepared
        read = {file for each in prepared for file in each.files}
        file_changes.wait_for_change({**file_changes.stamps(read), **seen})


def _prepared(files: Sequence[Path], variables: dict[str, str], where: Path) -> list[Prepared]:
    from catchment.plan.preparation import Prepared
    from catchment.project.loading import find

    try:
        project = projects.chosen_project(where)
    except InvalidFiles as error:  # of the project: its workflows cannot be checked without it
        _, file = find(where)
        return [Prepared(None, None, None, error.diagnostics, files=(*([file] if file else ()), *files))]
    return [projects.prepare(file, project, Choices(variables)) for file in files]


def _echo(prepared: Sequence[Prepared], output: str, *, watch: bool) -> int:
    """Print every problem; returns how many are errors."""
    found = [diagnostic for each in prepared for diagnostic in (*each.diagnostics, *each.missing)]
    found = list(dict.fromkeys(found))  # files of one project share its problems
    errors = sum(diagnostic.is_error for diagnostic in found)
    hide = projects.redactor()
    if output == "json":
        printing.echo_json(hide.data(error_report.diagnostics_data(found)), indent=None if watch else 2)
    else:
        if found:
            click.echo(hide.text(error_report.diagnostics_text(found)))
        click.echo(_verdict(len(prepared), errors, len(found) - errors))
    return errors


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
