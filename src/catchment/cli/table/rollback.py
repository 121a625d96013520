"""`catchment table rollback` and `catchment table set-snapshot`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from catchment.cli.table import changing
from catchment.cli.table.changing import Asked


@click.command()
@click.argument("address")
@click.argument("snapshot", required=False)
@click.option("--to", "timestamp", help="To what the table was then, such as 2026-03-01T12:00:00Z.")
@changing.destroying
def rollback(
    address: str, snapshot: str | None, timestamp: str | None, where: Path, output: str, *, dry_run: bool, yes: bool
) -> None:
    """Bring main back to a snapshot that it was at, in one step; its later commits are not seen any more."""
    if (snapshot is None) == (timestamp is None):
        raise click.UsageError("give a snapshot or --to, one of the two")
    arguments = {"snapshot": snapshot} if snapshot else {"timestamp": timestamp}
    changing.make(address, "rollback", arguments, Asked(where, output, dry_run, yes), _told)


@click.command("set-snapshot")
@click.argument("address")
@click.argument("snapshot")
@changing.destroying
def set_snapshot(address: str, snapshot: str, where: Path, output: str, *, dry_run: bool, yes: bool) -> None:
    """Bring main to any snapshot of the table, in one step, back or forth."""
    changing.make(address, "set_snapshot", {"snapshot": snapshot}, Asked(where, output, dry_run, yes), _told)


def _told(facts: Mapping[str, Any]) -> str:
    if not facts["changed"]:
        return f"{facts['address']}: nothing to do, main is at snapshot {facts['after']} already"
    would = facts["dry_run"]
    lines = [f"main of {facts['address']} {'would move' if would else 'moved'} to snapshot {facts['after']}"]
    for gone in facts["undone"]:
        writes = f": {', '.join(gone['write_ids'])}" if gone["write_ids"] else ""
        lines.append(f"  {'without' if would else 'undone'} {gone['snapshot_id']}{writes}")
    if facts["pending"]:
        lines.append(f"  {facts['pending']} sealed writes wait: they are published after it, on top of it")
    return "\n".join(lines)
