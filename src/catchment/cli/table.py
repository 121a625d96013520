"""`catchment table …`: looking at tables; what changes them has files of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import options, printing, secrecy
from catchment.cli.branches import branch
from catchment.cli.maintenance import compact, expire, remove_orphans, rewrite_manifests
from catchment.cli.publish import publications, publish
from catchment.errors import RequestError

if TYPE_CHECKING:
    from catchment.project.model import Address
    from catchment.run import lake


@click.group()
def table() -> None:
    """Look at the tables of the lake, publish them, change them and keep them in order."""


for command in (publish, publications, branch, compact, rewrite_manifests, expire, remove_orphans):
    table.add_command(command)


@table.command()
@click.argument("depot")
@options.project
@options.output("text", "json")
@options.debug
def ls(depot: str, where: Path, output: str) -> None:
    """List the tables of a depot."""
    facts = _inspect(where, "tables", depot)
    if output == "json":
        printing.echo_json(facts)
    else:
        _echo_list(facts["tables"])


@table.command()
@click.argument("address")
@options.project
@options.output("text", "json")
@options.debug
def show(address: str, where: Path, output: str) -> None:
    """Show a table: columns, partitions, properties, size, current snapshot."""
    facts = _inspect(where, "table", _table(address))
    if output == "json":
        printing.echo_json(facts)
        return
    for name, value in facts.items():
        if not isinstance(value, list | dict):
            click.echo(f"{name}: {printing.cell_text(value)}")
    for name, value in facts.items():
        if isinstance(value, list | dict) and value:
            click.echo(f"\n{name}")
            _echo_list(value if isinstance(value, list) else [{"name": k, "value": v} for k, v in value.items()])


@table.command()
@click.argument("address")
@options.project
@options.output("text", "json")
@options.debug
def snapshots(address: str, where: Path, output: str) -> None:
    """List the snapshots of a table, with the writes in each and their rows."""
    facts = _inspect(where, "snapshots", _table(address))
    if output == "json":
        printing.echo_json(facts)
    else:
        _echo_list([line for snapshot in facts["snapshots"] for line in _lines(snapshot)])


@table.command()
@click.argument("address")
@options.project
@options.output("text", "json")
@options.debug
def files(address: str, where: Path, output: str) -> None:
    """List the data files of a table's current snapshot."""
    facts = _inspect(where, "files", _table(address))
    if output == "json":
        printing.echo_json(facts)
    else:
        _echo_list(facts["files"])


@table.command()
@click.argument("address")
@options.project
@options.output("text", "json")
@options.debug
def versions(address: str, where: Path, output: str) -> None:
    """List the versions of a table: its metadata files, which one is the newest, and which one is published."""
    facts = _inspect(where, "versions", _table(address))
    if output == "json":
        printing.echo_json(facts)
    else:
        _echo_list([{**entry, "version": f"v{entry['version']}"} for entry in facts["versions"]])


def _lines(snapshot: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A line for each write in a snapshot; what they have in common stands on the first."""
    common = {key: snapshot[key] for key in ("snapshot_id", "committed_at", "operation", "workflow", "added_rows")}
    writes = snapshot["writes"] or [{"write_id": None, "rows": None}]
    for write in writes:
        yield {**common, "write": write["write_id"], "rows": write["rows"]}
        common = dict.fromkeys(common)


def _table(text: str) -> Address:
    from catchment.project import address

    parsed = address.parse(text)
    if parsed.dataset is None:
        raise RequestError(
            f"`{text}` names no table", code="no-dataset", hint="append /table; `catchment table ls DEPOT` lists them"
        )
    return parsed


def _inspect(where: Path, what: lake.What, target: Address | str) -> Mapping[str, Any]:
    from catchment.run import lake

    facts = lake.inspect(secrecy.open_project(where), what, target, tell=printing.tell)
    hidden: Mapping[str, Any] = secrecy.redactor().data(facts)
    return hidden


def _echo_list(entries: Sequence[Mapping[str, Any]]) -> None:
    if not entries:
        click.echo("nothing there", err=True)
        return
    columns = list(entries[0])
    printing.echo_table(columns, ([_cell(name, entry[name]) for name in columns] for entry in entries))


def _cell(name: str, value: object) -> object:
    # An id is a name, not a quantity; a list reads better without brackets.
    if name.endswith("_id") and value is not None:
        return str(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else value
