"""What the verbs that change tables have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import options, printing, secrecy

if TYPE_CHECKING:
    from catchment.spec.model import ChangeName

Command = Callable[..., Any]


def changing(command: Command) -> Command:
    """The options of a verb that changes the table at an address."""
    dry_run = click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
    for option in (options.debug, options.output("text", "json"), options.project, dry_run):
        command = option(command)
    return command


def make(where: Path, address: str, name: ChangeName, arguments: Mapping[str, Any], *, dry_run: bool) -> Any:
    """Make a change, or look what it would come to; the facts, without secrets."""
    from catchment.run import changes

    project = secrecy.open_project(where)
    facts = changes.change(project, address, name, arguments, dry_run=dry_run, tell=printing.tell)
    return secrecy.redactor().data(facts)


def echo(facts: Mapping[str, Any], output: str, told: str) -> None:
    """Print what a change came to: as JSON, or in words."""
    if output == "json":
        printing.echo_json(facts)
    else:
        click.echo(told)
