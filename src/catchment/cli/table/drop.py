"""`catchment table drop ADDRESS`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from catchment.cli import interaction, printing, projects
from catchment.cli.table import changing


@click.command()
@click.argument("address")
@changing.destructive_options
def drop(address: str, where: Path, output: str, *, dry_run: bool, yes: bool) -> None:
    """Drop a table with its files and its history. Nothing brings them back.

    A table with unfinished writes is not dropped. Readers are not waited for.
    """
    from catchment.run import tables

    project = projects.open_project(where)
    if not (yes or dry_run):
        interaction.require_somebody()
    facts = tables.drop(
        *(project, address), dry_run=dry_run, agree=None if yes or dry_run else _agree, tell=printing.tell
    )
    shown = projects.redactor().data(facts)
    if output == "json":
        printing.echo_json(shown)
    else:
        click.echo(_sentence(shown))


def _agree(facts: Mapping[str, Any]) -> None:
    click.echo(projects.redactor().text(_sentence(facts)), err=True)
    interaction.require("Drop it?")


def _sentence(facts: Mapping[str, Any]) -> str:
    counts = ((facts[key], key) for key in ("rows", "files", "snapshots"))
    size = ", ".join(f"{count:,} {name}" for count, name in counts if count is not None)
    published = ", and what its readers see in the published catalog" if facts["published"] else ""
    verb = "dropped" if facts["dropped"] else "would drop"
    return f"{verb} {facts['address']} at {facts['location']}: {size}{published}"
