"""Shared by the verbs that change tables: their options, confirmation, and printing of the result."""

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
    """The options of a change on the command line."""

    where: Path
    output: str
    dry_run: bool
    yes: bool = True
    """Whether to do it without asking."""


def change_options(command: Command) -> Command:
    """The options of a verb that changes the table at an address."""
    dry_run = click.option("--dry-run", is_flag=True, help="Show what would be done without doing it.")
    return dry_run(options.reporting(command))


def destructive_options(command: Command) -> Command:
    """The options of a verb that removes something."""
    return click.option("--yes", is_flag=True, help="Do it without asking for confirmation.")(change_options(command))


def apply_change(
    address: str, name: ChangeName, arguments: Mapping[str, Any], asked: ChangeOptions, tell: Tell
) -> None:
    """Make a change, or only look up what it would do, and print the result as JSON or in words."""
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
    """A function that describes a change: that it would be made, was made, or was not necessary."""

    def tell(facts: Mapping[str, Any]) -> str:
        if not facts["changed"]:
            return f"{facts['address']}: nothing to do: {what} is already in place"
        return f"{facts['address']}: {f'would {would}' if facts['dry_run'] else done} {what}"

    return tell
