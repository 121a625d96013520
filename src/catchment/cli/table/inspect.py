"""Shared by the verbs that inspect tables: gets the facts about a table and prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import printing, projects
from catchment.errors import RequestError

if TYPE_CHECKING:
    from catchment.project.model import Address
    from catchment.run import inspection

Entries = Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]]


def parse(text: str) -> Address:
    """The address of a table."""
    from catchment.project import address

    parsed = address.parse(text)
    if parsed.dataset is None:
        raise RequestError(
            f"`{text}` names no table", code="no-dataset", hint="append /table; `catchment table ls DEPOT` lists them"
        )
    return parsed


def inspect(where: Path, what: inspection.What, target: Address | str) -> Mapping[str, Any]:
    """Facts about a depot or a table, without secrets."""
    from catchment.run import inspection

    facts = inspection.inspect(projects.open_project(where), what, target, tell=printing.tell, explain=projects.explain)
    hidden: Mapping[str, Any] = projects.redactor().data(facts)
    return hidden


def report(where: Path, output: str, what: inspection.What, target: Address | str, entries: Entries) -> None:
    """Print facts about a depot or a table: all of them as JSON, or the listed entries as a table."""
    facts = inspect(where, what, target)
    if output == "json":
        printing.echo_json(facts)
    else:
        echo_list(entries(facts))


def echo_part(where: Path, address: str, part: str, output: str) -> None:
    """Print one part of the facts about a table."""
    found = inspect(where, "table", parse(address)).get(part, [])
    if output == "json":
        printing.echo_json({part: found})
    else:
        echo_list(as_list(found))


def as_list(found: Any) -> Sequence[Mapping[str, Any]]:
    """A list of entries; a mapping becomes a list of names and values."""
    return found if isinstance(found, list) else [{"name": name, "value": value} for name, value in found.items()]


def echo_list(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print entries with the same fields as a table."""
    if not entries:
        click.echo("nothing there", err=True)
        return
    columns = list(entries[0])
    printing.echo_table(columns, ([_cell(name, entry[name]) for name in columns] for entry in entries))


def _cell(name: str, value: object) -> object:
    # An id is a name, not a quantity, so it is text. Lists are printed without brackets.
    if name.endswith("_id") and value is not None:
        return str(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else value
