"""`catchment table branch fast-forward`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from catchment.cli import changes


@click.group()
def branch() -> None:
    """Branches of a table."""


@branch.command("fast-forward")
@click.argument("address")
@click.argument("branch")
@click.option("--to", default="main", show_default=True, help="The branch to bring forward.")
@changes.changing
def fast_forward(address: str, branch: str, to: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Let readers of main see what was written to a branch.

    Nothing is copied: main moves to the head of the branch, in one step. If main has commits that the branch does not
    have, it is refused.
    """
    arguments = {"branch": branch, "to": to}
    facts = changes.make(where, address, "branch_fast_forward", arguments, dry_run=dry_run)
    changes.echo(facts, output, _forwarded(facts))


def _forwarded(facts: Mapping[str, Any]) -> str:
    place = f"{facts['to']} of {facts['address']}"
    if not facts["commits"]:
        return f"{place} has all commits of {facts['branch']} already; it stays at snapshot {facts['after']}"
    moves = "would move" if facts["dry_run"] else "moved"
    return f"{place} {moves} to snapshot {facts['after']}: {len(facts['commits'])} commits of {facts['branch']}"
