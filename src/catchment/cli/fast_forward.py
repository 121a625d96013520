"""`catchment table fast-forward ADDRESS BRANCH`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from catchment.cli import options, printing, secrecy


@click.command("fast-forward")
@click.argument("address")
@click.argument("branch")
@click.option("--to", default="main", show_default=True, help="The branch to bring forward.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@options.project
@options.output("text", "json")
@options.debug
def fast_forward(address: str, branch: str, to: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Let readers of main see what was written to a branch.

    Nothing is copied: main moves to the head of the branch, in one step. If main has commits that the branch does not
    have, it is refused.
    """
    from catchment.run import branches

    project = secrecy.open_project(where)
    facts = secrecy.redactor().data(
        branches.fast_forward(project, address, branch, to, dry_run=dry_run, tell=printing.tell)
    )
    if output == "json":
        printing.echo_json(facts)
    else:
        click.echo(_told(facts))


def _told(facts: Mapping[str, Any]) -> str:
    place = f"{facts['to']} of {facts['address']}"
    if not facts["commits"]:
        return f"{place} has all commits of {facts['branch']} already; it stays at snapshot {facts['after']}"
    moves = "would move" if facts["dry_run"] else "moved"
    return f"{place} {moves} to snapshot {facts['after']}: {len(facts['commits'])} commits of {facts['branch']}"
