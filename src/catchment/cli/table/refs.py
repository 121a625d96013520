"""`catchment table branch ls|create|delete|fast-forward` and `catchment table tag ls|create|delete`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from catchment.cli import options
from catchment.cli.table import changing, inspect
from catchment.cli.table.changing import Asked, sentence


@click.group()
def branch() -> None:
    """Branches of a table: lines of commits beside main."""


@click.group()
def tag() -> None:
    """Tags of a table: names of snapshots."""


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
@click.option("--snapshot", help="Where it begins.  [default: the head of main]")
@changing.changing
def branch_create(address: str, name: str, snapshot: str | None, where: Path, output: str, *, dry_run: bool) -> None:
    """Create a branch."""
    arguments = {"branch": name, **({"snapshot": snapshot} if snapshot else {})}
    tell = sentence("create", "created", f"branch {name}")
    changing.make(address, "branch_create", arguments, Asked(where, output, dry_run), tell)


@tag.command("create")
@click.argument("address")
@click.argument("name")
@click.option("--snapshot", help="Which snapshot it names.  [default: the head of main]")
@changing.changing
def tag_create(address: str, name: str, snapshot: str | None, where: Path, output: str, *, dry_run: bool) -> None:
    """Create a tag."""
    arguments = {"tag": name, **({"snapshot": snapshot} if snapshot else {})}
    tell = sentence("create", "created", f"tag {name}")
    changing.make(address, "tag_create", arguments, Asked(where, output, dry_run), tell)


@branch.command("delete")
@click.argument("address")
@click.argument("name")
@changing.destroying
def branch_delete(address: str, name: str, where: Path, output: str, *, dry_run: bool, yes: bool) -> None:
    """Delete a branch. Commits that nothing else refers to go when snapshots are expired."""
    tell = sentence("delete", "deleted", f"branch {name}")
    changing.make(address, "branch_delete", {"branch": name}, Asked(where, output, dry_run, yes), tell)


@tag.command("delete")
@click.argument("address")
@click.argument("name")
@changing.destroying
def tag_delete(address: str, name: str, where: Path, output: str, *, dry_run: bool, yes: bool) -> None:
    """Delete a tag. Its snapshot goes when snapshots are expired, if nothing else refers to it."""
    tell = sentence("delete", "deleted", f"tag {name}")
    changing.make(address, "tag_delete", {"tag": name}, Asked(where, output, dry_run, yes), tell)


@branch.command("fast-forward")
@click.argument("address")
@click.argument("branch")
@click.option("--to", default="main", show_default=True, help="The branch to bring forward.")
@changing.changing
def fast_forward(address: str, branch: str, to: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Let readers of main see what was written to a branch.

    Nothing is copied: main moves to the head of the branch, in one step. If main has commits that the branch does not
    have, it is refused.
    """
    arguments = {"branch": branch, "to": to}
    changing.make(address, "branch_fast_forward", arguments, Asked(where, output, dry_run), _forwarded)


def _forwarded(facts: Mapping[str, Any]) -> str:
    place = f"{facts['to']} of {facts['address']}"
    if not facts["commits"]:
        return f"{place} has all commits of {facts['branch']} already; it stays at snapshot {facts['after']}"
    moves = "would move" if facts["dry_run"] else "moved"
    return f"{place} {moves} to snapshot {facts['after']}: {len(facts['commits'])} commits of {facts['branch']}"
