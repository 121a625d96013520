"""`catchment table partition add|drop|replace`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from catchment.cli.table import changing
from catchment.cli.table.changing import Asked, Command, sentence

TRANSFORMS = ("identity", "year", "month", "day", "hour", "bucket", "truncate")


@click.group()
def partition() -> None:
    """How a table is partitioned, from now on. Files that are there stay as they are."""


def _new_field(command: Command) -> Command:
    for option in (
        click.option("--width", type=click.IntRange(1), help="Of truncate: the width."),
        click.option("--buckets", type=click.IntRange(1), help="Of bucket: how many."),
        click.option("--as", "as_column", help="The name of the new field.  [default: Iceberg's own]"),
        click.argument("column"),
        click.argument("transform", type=click.Choice(TRANSFORMS)),
    ):
        command = option(command)
    return command


@partition.command("add")
@click.argument("address")
@_new_field
@changing.changing
def add(address: str, where: Path, output: str, *, dry_run: bool, **field: Any) -> None:
    """Partition by one more field."""
    tell = sentence("add", "added", f"partition field {field['transform']} of {field['column']}")
    changing.make(address, "partition_add", _arguments(field), Asked(where, output, dry_run), tell)


@partition.command("drop")
@click.argument("address")
@click.argument("field")
@changing.changing
def drop(address: str, field: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Partition by one field less."""
    tell = sentence("drop", "dropped", f"partition field {field}")
    changing.make(address, "partition_drop", {"field": field}, Asked(where, output, dry_run), tell)


@partition.command("replace")
@click.argument("address")
@click.argument("field")
@_new_field
@changing.changing
def replace(address: str, field: str, where: Path, output: str, *, dry_run: bool, **new: Any) -> None:
    """Partition by another field in place of one."""
    arguments = {"field": field, **_arguments(new)}
    tell = sentence("replace", "replaced", f"partition field {field} with {new['transform']} of {new['column']}")
    changing.make(address, "partition_replace", arguments, Asked(where, output, dry_run), tell)


def _arguments(field: dict[str, Any]) -> dict[str, Any]:
    given = {
        "type": field["transform"],
        "column": field["column"],
        "asColumn": field["as_column"],
        "numBuckets": field["buckets"],
        "width": field["width"],
    }
    return {key: value for key, value in given.items() if value is not None}
