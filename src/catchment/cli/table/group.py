"""`catchment table …`: the group, and the verbs that only inspect tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from catchment.cli import options, printing
from catchment.cli.compact import compact
from catchment.cli.table import inspect
from catchment.cli.table.alter import column, partition, properties
from catchment.cli.table.drop import drop
from catchment.cli.table.health import health, partitions
from catchment.cli.table.maintenance import expire, remove_orphans, rewrite_manifests
from catchment.cli.table.publish import publications, publish
from catchment.cli.table.refs import branch, rollback, set_snapshot, tag


@click.group()
def table() -> None:
    """Inspect, publish, change and maintain the tables of the lake."""


_CHANGES = (drop, publish, publications, rollback, set_snapshot, branch, tag, properties, column, partition)
_UPKEEP = (compact, rewrite_manifests, expire, remove_orphans)
for command in (*_CHANGES, *_UPKEEP, health, partitions):
    table.add_command(command)


@table.command()
@click.argument("depot")
@options.reporting
def ls(depot: str, where: Path, output: str) -> None:
    """List the tables of a depot."""
    inspect.report(where, output, "tables", depot, lambda facts: facts["tables"])


@table.command()
@click.argument("address")
@options.reporting
def show(address: str, where: Path, output: str) -> None:
    """Show a table: columns, partitions, properties, size, current snapshot."""
    facts = inspect.inspect(where, "table", inspect.parse(address))
    if output == "json":
        printing.echo_json(facts)
        return
    for name, value in facts.items():
        if not isinstance(value, list | dict):
            click.echo(f"{name}: {printing.cell_text(value)}")
    for name, value in facts.items():
        if isinstance(value, list | dict) and value:
            click.echo(f"\n{name}")
            inspect.echo_list(inspect.as_list(value))


@table.command()
@click.argument("address")
@options.reporting
def snapshots(address: str, where: Path, output: str) -> None:
    """List the snapshots of a table, with the writes in each and their rows."""
    inspect.report(where, output, "snapshots", inspect.parse(address), _writes)


@table.command()
@click.argument("address")
@options.reporting
def files(address: str, where: Path, output: str) -> None:
    """List the data files of a table's current snapshot."""
    inspect.report(where, output, "files", inspect.parse(address), lambda facts: facts["files"])


@table.command()
@click.argument("address")
@options.reporting
def versions(address: str, where: Path, output: str) -> None:
    """List the versions of a table: its metadata files, which one is the newest, and which one is published."""
    inspect.report(where, output, "versions", inspect.parse(address), _versions)


@table.command()
@click.argument("address")
@options.reporting
def metadata(address: str, where: Path, output: str) -> None:
    """Summarise a table's newest metadata file: ids, and the numbers of schemas, specs, snapshots and refs."""
    inspect.report(where, output, "metadata", inspect.parse(address), _in_words)


def _writes(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [line for snapshot in facts["snapshots"] for line in _lines(snapshot)]


def _versions(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [{**entry, "version": f"v{entry['version']}"} for entry in facts["versions"]]


def _in_words(facts: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return inspect.as_list({name: printing.cell_text(value) for name, value in facts.items()})


def _lines(snapshot: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """One row for each write of a snapshot; common values are in the first row only."""
    common = {key: snapshot[key] for key in ("snapshot_id", "committed_at", "operation", "workflow", "added_rows")}
    writes = snapshot["writes"] or [{"write_id": None, "rows": None}]
    for write in writes:
        yield {**common, "write": write["write_id"], "rows": write["rows"]}
        common = dict.fromkeys(common)
