"""`catchment schema [workflow|project]`."""

from __future__ import annotations

import click

from catchment.cli import options, printing


@click.command()
@click.argument("kind", type=click.Choice(["workflow", "project"]), default="workflow")
@options.debug
def schema(kind: str) -> None:
    """Print the JSON Schema (draft-07 keywords) that editors complete and explain from."""
    if kind == "project":
        from catchment.project.schema import project_schema

        printing.echo_json(project_schema())
    else:
        from catchment.spec.schema import workflow_schema

        printing.echo_json(workflow_schema())
