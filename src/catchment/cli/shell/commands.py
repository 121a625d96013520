"""The commands of the shell, which begin with a backslash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from catchment.cli import printing, projects
from catchment.cli.table import inspect
from catchment.errors import Cancelled, CatchmentError, RequestError

if TYPE_CHECKING:
    from catchment.cli.shell.loop import Shell
    from catchment.project.model import Address


class Command(NamedTuple):
    """One command."""

    usage: str
    summary: str
    run: Callable[[Shell, str], None]


LEAVING = frozenset({"exit", "quit"})
"""Words that leave the shell without a backslash."""


def is_command(text: str) -> bool:
    """Whether a text is for the shell and not for an engine."""
    return text.lstrip().startswith("\\") or text.strip().rstrip(";").lower() in LEAVING


def run(shell: Shell, line: str) -> None:
    """Run the command on a line."""
    name, _, argument = line.strip().rstrip(";").partition(" ")
    if name.lower() in LEAVING:
        raise EOFError
    command = COMMANDS.get(name)
    if command is None:
        from catchment.spec.validation import did_you_mean

        hint = did_you_mean(name, COMMANDS) or "\\? lists the commands"
        raise RequestError(f"there is no command {name}", code="unknown-command", hint=hint)
    command.run(shell, argument.strip())


def _help(shell: Shell, argument: str) -> None:
    printing.echo_table(("command", "what it does"), [(each.usage, each.summary) for each in COMMANDS.values()])
    click.echo("\nA statement ends with a semicolon and may have several lines. Ctrl-C cancels it, Ctrl-D leaves.")


def _describe(shell: Shell, argument: str) -> None:
    address = _address(argument) if argument else None
    if address is None:
        depots = [argument] if argument else shell.names.depots()
        _echo_tables(shell, depots)
    else:
        _echo_table(projects.redactor().data(shell.names.facts("table", address)))


def _echo_tables(shell: Shell, depots: list[str]) -> None:
    from catchment.project.model import Address

    rows: list[tuple[str, str, str]] = []
    all_answered = True
    for depot in depots:
        try:
            found = shell.names.facts("tables", Address(depot, None, None, None))["tables"]
            rows += [(depot, table["namespace"], table["table"]) for table in found]
        except CatchmentError as error:
            if len(depots) == 1 or error.code == Cancelled.code:
                raise
            shell.echo_error(error)  # a depot that cannot be reached does not hide the others
            all_answered = False
    if rows:
        printing.echo_table(("depot", "collection", "table"), rows)
    elif all_answered:
        printing.tell("no tables yet")


def _echo_table(facts: Mapping[str, Any]) -> None:
    for name, value in facts.items():
        if not isinstance(value, list | dict):
            click.echo(f"{name}: {printing.cell_text(value)}")
    for name in ("columns", "partitions"):
        if facts[name]:
            click.echo()
            inspect.echo_list(facts[name])


def _address(text: str) -> Address | None:
    """The address of a table, written as in SQL or as an address; None if the text is the name of a depot."""
    from catchment.project.address import parse
    from catchment.project.model import Address

    if "://" in text:
        return inspect.parse(text) if parse(text).dataset else parse(text)
    parts = [part.strip("`") for part in text.split(".")]
    if len(parts) == 1:
        return None
    if len(parts) != 3:
        raise RequestError(
            f"`{text}` names no table", code="bad-address", hint="write depot.collection.table, or a depot alone"
        )
    return Address(parts[0], parts[1], parts[2], None)


def _timing(shell: Shell, argument: str) -> None:
    shell.timing = _switched(argument, on=shell.timing)
    printing.tell(f"timing is {'on' if shell.timing else 'off'}")


def _expanded(shell: Shell, argument: str) -> None:
    shell.expanded = _switched(argument, on=shell.expanded)
    printing.tell(f"rows are shown {'one value per line' if shell.expanded else 'as a table'}")


def _switched(argument: str, *, on: bool) -> bool:
    if argument not in ("", "on", "off"):
        raise RequestError(f"`{argument}` is neither on nor off", code="bad-value", hint="write on, off or nothing")
    return not on if argument == "" else argument == "on"


def _quit(shell: Shell, argument: str) -> None:
    raise EOFError


COMMANDS: Mapping[str, Command] = {
    "\\d": Command("\\d [TABLE]", "list the tables, or show the columns of one: depot.collection.table", _describe),
    "\\timing": Command("\\timing [on|off]", "show how long statements take", _timing),
    "\\x": Command("\\x [on|off]", "show each value on a line of its own", _expanded),
    "\\?": Command("\\?", "show this help", _help),
    "\\q": Command("\\q", "leave, as Ctrl-D does", _quit),
}
