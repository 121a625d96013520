"""`catchment table branch|tag|rollback|set-snapshot …`: which snapshots a table's branches and tags point to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from catchment.cli import options
from catchment.cli.table import changing, inspect
from catchment.cli.table.changing import ChangeOptions, sentence


@click.group()
def branch() -> None:
    """Show and change the branches of a table."""


@click.group()
def tag() -> None:
    """Show and change the tags of a table, which name snapshots."""


@branch.command("ls")
@click.argument("address")
@options.reporting
def branch_ls(address: str, where: Path, output: str) -> None:
    """List the branches of a table."""
    inspect.echo_part(where, address, "branches", output)


@tag.command("ls")
@click.argument("address")
@options.reporting
def tag_ls(address: str, where: Path, output: str) -> None:
    """List the tags of a table."""
    inspect.echo_part(where, address, "tags", output)


@branch.command("create")
@click.argument("address")
@click.argument("name")
@click.option("--snapshot", help="The snapshot it starts from.  [default: the head of main]")
@changing.change_options
def branch_create(address: str, name: str, snapshot: str | None, where: Path, output: str, *, dry_run: bool) -> None:
    """Create a branch."""
    arguments = {"branch": name, **({"snapshot": snapshot} if snapshot else {})}
    tell = sentence("create", "created", f"branch {name}")
    changing.apply_change(address, "branch_create", arguments, ChangeOptions(where, output, dry_run), tell)


@tag.command("create")
@click.argument("address")
@click.argument("name")
@click.option("--snapshot", help="The snapshot it names.  [default: the head of main]")
@changing.change_options
def tag_create(address: str, name: str, snapshot: str | None, where: Path, output: str, *, dry_run: bool) -> None:
    """Create a tag."""
    arguments = {"tag": name, **({"snapshot": snapshot} if snapshot else {})}
    tell = sentence("create", "created", f"tag {name}")
    changing.apply_change(address, "tag_create", arguments, ChangeOptions(where, output, dry_run), tell)


@branch.command("delete")
@click.argument("address")
@click.argument("name")
@changing.destructive_options
def branch_delete(address: str, name: str, where: Path, output: str, *, dry_run: bool, yes: bool) -> None:
    """Delete a branch. Commits that nothing else refers to are removed when snapshots are expired."""
    tell = sentence("delete", "deleted", f"branch {name}")
    changing.apply_change(address, "branch_delete", {"branch": name}, ChangeOptions(where, output, dry_run, yes), tell)


@tag.command("delete")
@click.argument("address")
@click.argument("name")
@changing.destructive_options
def tag_delete(address: str, name: str, where: Path, output: str, *, dry_run: bool, yes: bool) -> None:
    """Delete a tag. If nothing else refers to its snapshot, it is removed when snapshots are expired."""
    tell = sentence("delete", "deleted", f"tag {name}")
    changing.apply_change(address, "tag_delete", {"tag": name}, ChangeOptions(where, output, dry_run, yes), tell)


@branch.command("fast-forward")
@click.argument("address")
@click.argument("branch")
@click.option("--to", default="main", show_default=True, help="The branch to move forward.")
@changing.change_options
def fast_forward(address: str, branch: str, to: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Move main to the head of a branch, so that its readers see what was written there.

    Nothing is copied, and main moves in one step. It is refused if main has commits that the branch does not have.
    """
    arguments = {"branch": branch, "to": to}
    changing.apply_change(address, "branch_fast_forward", arguments, ChangeOptions(where, output, dry_run), _forwarded)


def _forwarded(facts: Mapping[str, Any]) -> str:
    place = f"{facts['to']} of {facts['address']}"
    if not facts["commits"]:
        return f"{place} already has all commits of {facts['branch']}; it stays at snapshot {facts['after']}"
    moves = "would move" if facts["dry_run"] else "moved"
    return f"{place} {moves} to snapshot {facts['after']}: {len(facts['commits'])} commits of {facts['branch']}"


@click.command()
@click.argument("address")
@click.argument("snapshot", required=False)
@click.option("--to", "timestamp", help="The time to go back to, such as 2026-03-01T12:00:00Z.")
@changing.destructive_options
def rollback(
    address: str, snapshot: str | None, timestamp: str | None, where: Path, output: str, *, dry_run: bool, yes: bool
) -> None:
    """Move main back to an earlier snapshot, in one step; its later commits are no longer visible."""
    if (snapshot is None) == (timestamp is None):
        raise click.UsageError("give either a snapshot or --to")
    arguments = {"snapshot": snapshot} if snapshot else {"timestamp": timestamp}
    changing.apply_change(address, "rollback", arguments, ChangeOptions(where, output, dry_run, yes), _moved)


@click.command("set-snapshot")
@click.argument("address")
@click.argument("snapshot")
@changing.destructive_options
def set_snapshot(address: str, snapshot: str, where: Path, output: str, *, dry_run: bool, yes: bool) -> None:
    """Move main to any snapshot of the table, in one step."""
    changing.apply_change(
        address, "set_snapshot", {"snapshot": snapshot}, ChangeOptions(where, output, dry_run, yes), _moved
    )


def _moved(facts: Mapping[str, Any]) -> str:
    if not facts["changed"]:
        return f"{facts['address']}: nothing to do: main is already at snapshot {facts['after']}"
    would = facts["dry_run"]
    lines = [f"main of {facts['address']} {'would move' if would else 'moved'} to snapshot {facts['after']}"]
    for gone in facts["undone"]:
        writes = f": {', '.join(gone['write_ids'])}" if gone["write_ids"] else ""
        lines.append(f"  {'without' if would else 'undone'} {gone['snapshot_id']}{writes}")
    if facts["pending"]:
        lines.append(f"  {facts['pending']} sealed writes are waiting and will be published on top of it")
    return "\n".join(lines)
