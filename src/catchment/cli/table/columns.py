"""`catchment table column add|drop|rename|widen`."""

from __future__ import annotations

from pathlib import Path

import click

from catchment.cli.table import changing
from catchment.cli.table.changing import Asked, sentence


@click.group()
def column() -> None:
    """Columns of a table. A column of a struct is named with a dot: address.city."""


@column.command("add")
@click.argument("address")
@click.argument("name")
@click.argument("type_", metavar="TYPE")
@click.option("--comment", help="What the column is for.")
@changing.changing
def add(address: str, name: str, type_: str, comment: str | None, where: Path, output: str, *, dry_run: bool) -> None:
    """Add a column; rows that are there have null in it. TYPE is written as in SQL."""
    arguments = {"column": name, "type": type_, **({"comment": comment} if comment else {})}
    tell = sentence("add", "added", f"column {name} {type_}")
    changing.make(address, "column_add", arguments, Asked(where, output, dry_run), tell)


@column.command("drop")
@click.argument("address")
@click.argument("name")
@changing.destroying
def drop(address: str, name: str, where: Path, output: str, *, dry_run: bool, yes: bool) -> None:
    """Drop a column. A new one of the same name does not bring its values back."""
    tell = sentence("drop", "dropped", f"column {name}")
    changing.make(address, "column_drop", {"column": name}, Asked(where, output, dry_run, yes), tell)


@column.command("rename")
@click.argument("address")
@click.argument("name")
@click.argument("to")
@changing.changing
def rename(address: str, name: str, to: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Rename a column; its values stay."""
    tell = sentence("rename", "renamed", f"column {name} to {to}")
    changing.make(address, "column_rename", {"column": name, "to": to}, Asked(where, output, dry_run), tell)


@column.command("widen")
@click.argument("address")
@click.argument("name")
@click.argument("type_", metavar="TYPE")
@changing.changing
def widen(address: str, name: str, type_: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Give a column a wider type: int to bigint, float to double, a decimal more digits. No file is rewritten."""
    tell = sentence("widen", "widened", f"column {name} to {type_}")
    changing.make(address, "column_widen", {"column": name, "type": type_}, Asked(where, output, dry_run), tell)
