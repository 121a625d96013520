"""`catchment table column|partition|properties …`: change a table's schema, partitioning and properties."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from catchment.cli import options
from catchment.cli.table import changing, inspect
from catchment.cli.table.changing import ChangeOptions, Command, sentence


@click.group()
def column() -> None:
    """Change the columns of a table. A field of a struct is named with a dot: address.city."""


@column.command("add")
@click.argument("address")
@click.argument("name")
@click.argument("type_", metavar="TYPE")
@click.option("--comment", help="What the column is for.")
@changing.change_options
def column_add(
    address: str, name: str, type_: str, comment: str | None, where: Path, output: str, *, dry_run: bool
) -> None:
    """Add a column, which is null in existing rows. TYPE is written as in SQL."""
    arguments = {"column": name, "type": type_, **({"comment": comment} if comment else {})}
    tell = sentence("add", "added", f"column {name} {type_}")
    changing.apply_change(address, "column_add", arguments, ChangeOptions(where, output, dry_run), tell)


@column.command("drop")
@click.argument("address")
@click.argument("name")
@changing.destructive_options
def column_drop(address: str, name: str, where: Path, output: str, *, dry_run: bool, yes: bool) -> None:
    """Drop a column. Adding a column of the same name does not restore its values."""
    tell = sentence("drop", "dropped", f"column {name}")
    changing.apply_change(address, "column_drop", {"column": name}, ChangeOptions(where, output, dry_run, yes), tell)


@column.command("rename")
@click.argument("address")
@click.argument("name")
@click.argument("to")
@changing.change_options
def column_rename(address: str, name: str, to: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Rename a column and keep its values."""
    tell = sentence("rename", "renamed", f"column {name} to {to}")
    changing.apply_change(
        address, "column_rename", {"column": name, "to": to}, ChangeOptions(where, output, dry_run), tell
    )


@column.command("widen")
@click.argument("address")
@click.argument("name")
@click.argument("type_", metavar="TYPE")
@changing.change_options
def column_widen(address: str, name: str, type_: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Give a column a wider type: int to bigint, float to double, a decimal more digits. No file is rewritten."""
    tell = sentence("widen", "widened", f"column {name} to {type_}")
    changing.apply_change(
        address, "column_widen", {"column": name, "type": type_}, ChangeOptions(where, output, dry_run), tell
    )


TRANSFORMS = ("identity", "year", "month", "day", "hour", "bucket", "truncate")
_NUMBERS = {"bucket": "buckets", "truncate": "width"}
"""The options that transforms need."""


@click.group()
def partition() -> None:
    """Change how new rows of a table are partitioned. Existing files stay as they are."""


def _new_field(command: Command) -> Command:
    for option in (
        click.option("--width", type=click.IntRange(1), help="The width of truncate."),
        click.option("--buckets", type=click.IntRange(1), help="The number of buckets."),
        click.option("--as", "as_column", help="The name of the new field.  [default: the format's own]"),
        click.argument("column"),
        click.argument("transform", type=click.Choice(TRANSFORMS)),
    ):
        command = option(command)
    return command


@partition.command("add")
@click.argument("address")
@_new_field
@changing.change_options
def partition_add(address: str, where: Path, output: str, *, dry_run: bool, **field: Any) -> None:
    """Add a partition field."""
    tell = sentence("add", "added", f"partition field {field['transform']} of {field['column']}")
    changing.apply_change(address, "partition_add", _arguments(field), ChangeOptions(where, output, dry_run), tell)


@partition.command("drop")
@click.argument("address")
@click.argument("field")
@changing.change_options
def partition_drop(address: str, field: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Drop a partition field."""
    tell = sentence("drop", "dropped", f"partition field {field}")
    changing.apply_change(address, "partition_drop", {"field": field}, ChangeOptions(where, output, dry_run), tell)


@partition.command("replace")
@click.argument("address")
@click.argument("field")
@_new_field
@changing.change_options
def partition_replace(address: str, field: str, where: Path, output: str, *, dry_run: bool, **new: Any) -> None:
    """Replace a partition field with another."""
    arguments = {"field": field, **_arguments(new)}
    tell = sentence("replace", "replaced", f"partition field {field} with {new['transform']} of {new['column']}")
    changing.apply_change(address, "partition_replace", arguments, ChangeOptions(where, output, dry_run), tell)


def _arguments(field: dict[str, Any]) -> dict[str, Any]:
    for name in ("buckets", "width"):
        if _NUMBERS.get(field["transform"]) != name:
            options.refuse(options.given(name), f"{field['transform']} takes no such number", "leave it out")
    given = {
        "type": field["transform"],
        "column": field["column"],
        "asColumn": field["as_column"],
        "numBuckets": field["buckets"],
        "width": field["width"],
    }
    return {key: value for key, value in given.items() if value is not None}


@click.group()
def properties() -> None:
    """Show and change the properties of a table."""


@properties.command("show")
@click.argument("address")
@options.reporting
def properties_show(address: str, where: Path, output: str) -> None:
    """List the properties of a table."""
    inspect.echo_part(where, address, "properties", output)


@properties.command("set")
@click.argument("address")
@click.argument("settings", nargs=-1, required=True, metavar="KEY=VALUE...")
@changing.change_options
def properties_set(address: str, settings: tuple[str, ...], where: Path, output: str, *, dry_run: bool) -> None:
    """Set properties of a table."""
    if wrong := [each for each in settings if not each.partition("=")[0] or "=" not in each]:
        raise click.UsageError(f"`{wrong[0]}` is not KEY=VALUE")
    wanted = {key: value for key, _, value in (each.partition("=") for each in settings)}
    tell = sentence("set", "set", ", ".join(settings))
    changing.apply_change(
        address, "properties_set", {"properties": wanted}, ChangeOptions(where, output, dry_run), tell
    )


@properties.command("unset")
@click.argument("address")
@click.argument("names", nargs=-1, required=True, metavar="KEY...")
@changing.change_options
def properties_unset(address: str, names: tuple[str, ...], where: Path, output: str, *, dry_run: bool) -> None:
    """Remove properties of a table."""
    tell = sentence("unset", "unset", ", ".join(names))
    changing.apply_change(
        address, "properties_unset", {"names": list(names)}, ChangeOptions(where, output, dry_run), tell
    )
