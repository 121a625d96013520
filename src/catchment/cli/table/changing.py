"""What the verbs that change tables have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import interaction, options, printing, projects

if TYPE_CHECKING:
    from catchment.spec.model import ChangeName

Command = Callable[..., Any]
Tell = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True)
class ChangeOptions:
    """How a change was asked for on the command line."""

    where: Path
    output: str
    dry_run: bool
    yes: bool = True
    """Whether to do it without asking."""


def change_options(command: Command) -> Command:
    """The options of a verb that changes the table at an address."""
    dry_run = click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
    return dry_run(options.reporting(command))


def destructive_options(command: Command) -> Command:
    """The options of a verb whose change takes something away."""
    return click.option("--yes", is_flag=True, help="Do it without asking.")(change_options(command))


def apply_change(
    address: str, name: ChangeName, arguments: Mapping[str, Any], asked: ChangeOptions, tell: Tell
) -> None:
    """Make a change, or look what it would come to, and print that: as JSON, or in words."""
    from catchment.run import tables

    project = projects.open_project(asked.where)

    def agree(facts: Mapping[str, Any]) -> None:
        click.echo(projects.redactor().text(tell(facts)), err=True)
        if facts["changed"]:
            interaction.require("Do it?")

    made = tables.change(
        *(project, address, name, arguments),
        dry_run=asked.dry_run,
        agree=None if asked.yes else agree,
        tell=printing.tell,
    )
    facts = projects.redactor().data(made)
    if asked.output == "json":
        printing.echo_json(facts)
    else:
        click.echo(tell(facts))


def sentence(would: str, done: str, what: str) -> Tell:
    """How a change is told: that it would be made, that it was made, or that there was nothing to do."""

    def tell(facts: Mapping[str, Any]) -> str:
        if not facts["changed"]:
            return f"{facts['address']}: nothing to do, {what} is so already"
        return f"{facts['address']}: {f'would {would}' if facts['dry_run'] else done} {what}"

    return tell
