"""`catchment table properties show|set|unset`."""

from __future__ import annotations

from pathlib import Path

import click

from catchment.cli import options
from catchment.cli.table import changing, inspect
from catchment.cli.table.changing import Asked, sentence


@click.group()
def properties() -> None:
    """Properties of a table."""


@properties.command("show")
@click.argument("address")
@options.reporting
def show(address: str, where: Path, output: str) -> None:
    """List the properties of a table."""
    inspect.echo_part(where, address, "properties", output)


@properties.command("set")
@click.argument("address")
@click.argument("settings", nargs=-1, required=True, metavar="KEY=VALUE...")
@changing.changing
def set_(address: str, settings: tuple[str, ...], where: Path, output: str, *, dry_run: bool) -> None:
    """Set properties of a table."""
    if wrong := [each for each in settings if not each.partition("=")[0] or "=" not in each]:
        raise click.UsageError(f"`{wrong[0]}` is not KEY=VALUE")
    wanted = {key: value for key, _, value in (each.partition("=") for each in settings)}
    tell = sentence("set", "set", ", ".join(settings))
    changing.make(address, "properties_set", {"properties": wanted}, Asked(where, output, dry_run), tell)


@properties.command("unset")
@click.argument("address")
@click.argument("names", nargs=-1, required=True, metavar="KEY...")
@changing.changing
def unset(address: str, names: tuple[str, ...], where: Path, output: str, *, dry_run: bool) -> None:
    """Remove properties of a table."""
    tell = sentence("unset", "unset", ", ".join(names))
    changing.make(address, "properties_unset", {"names": list(names)}, Asked(where, output, dry_run), tell)
