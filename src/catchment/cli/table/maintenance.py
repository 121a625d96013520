"""`catchment table rewrite-manifests|expire|remove-orphans ADDRESS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from catchment.cli import interaction, options, printing, projects
from catchment.errors import RequestError

if TYPE_CHECKING:
    from catchment.plan.model import Maintenance

Command = TypeVar("Command", bound=Callable[..., Any])
NEEDED_BY = {"incremental": "incremental jobs"}
"""Longer names for reasons to keep snapshots, where the name alone is unclear."""
SHOWN = 20
"""How many files are printed as text; JSON has all of them."""


_dry_run = click.option("--dry-run", is_flag=True, help="Show what would be rewritten, and write nothing.")


def _destructive(command: Command) -> Command:
    for option in (
        click.option("--yes", is_flag=True, help="Do it without asking."),
        click.option("--dry-run", is_flag=True, help="Show what would go, and do nothing."),
        click.option("--older-than", metavar="MOMENT", help="Only what is older: 7d, or 2026-01-31T12:00:00Z."),
        click.option("--deletes", type=click.IntRange(min=1), help="Remove so many files at the same time."),
    ):
        command = option(command)
    return command


@click.command("rewrite-manifests")
@click.argument("address")
@_dry_run
@options.reporting
def rewrite_manifests(address: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Rewrite many small manifests into a few large ones, so that queries are planned faster."""
    from catchment.plan.model import RewriteManifests

    _maintain(address, RewriteManifests(), where, output, dry_run=dry_run)


@click.command()
@click.argument("address")
@click.option("--snapshot", "snapshots", type=int, multiple=True, help="This snapshot; may be given several times.")
@click.option("--retain-last", type=click.IntRange(min=1), default=1, show_default=True, help="Snapshots that stay.")
@_destructive
@options.reporting
def expire(
    address: str,
    snapshots: Sequence[int],
    retain_last: int,
    older_than: str | None,
    deletes: int | None,
    where: Path,
    output: str,
    *,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove old snapshots, and the files that only they need.

    Snapshots are kept if unfinished writes, readers of the published catalog, running jobs and queries, or incremental
    jobs may need them. Without --older-than, the maximum age is the one set in the table's properties (five days by
    default).
    """
    from catchment.plan.model import Expire

    if snapshots and older_than:
        raise RequestError(
            "--snapshot and --older-than say differently what is meant", code="options-conflict", hint="keep one"
        )
    operation = Expire(_moment(older_than), tuple(map(str, snapshots)), retain_last, deletes)
    _maintain(address, operation, where, output, dry_run=dry_run, ask=None if yes else "snapshots")


@click.command("remove-orphans")
@click.argument("address")
@click.option("--location", metavar="DIRECTORY", help="Only below this directory of the table.")
@_destructive
@options.reporting
def remove_orphans(
    address: str,
    location: str | None,
    older_than: str | None,
    deletes: int | None,
    where: Path,
    output: str,
    *,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove files that no snapshot of the table refers to.

    Files of unfinished writes are kept. Without --older-than, only files that are at least three days old are removed.
    """
    from catchment.plan.model import RemoveOrphans

    operation = RemoveOrphans(_moment(older_than), location, deletes=deletes)
    _maintain(address, operation, where, output, dry_run=dry_run, ask=None if yes else "files")


def _maintain(
    address: str, operation: Maintenance, where: Path, output: str, *, dry_run: bool = False, ask: str | None = None
) -> None:
    from catchment.run import tables

    project = projects.open_project(where)
    if ask and not dry_run:
        interaction.require_somebody()
    agree = (lambda looked: _agrees(looked, ask)) if ask and not dry_run else None
    facts = tables.maintain(project, address, operation, dry_run=dry_run, agree=agree, tell=printing.tell)
    if facts is None:
        raise interaction.refused()
    shown = projects.redactor().data(facts)
    if output == "json":
        printing.echo_json(shown)
    else:
        _echo(shown)


def _agrees(looked: Mapping[str, Any], what: str) -> bool:
    for found in (what, "files"):  # not every format removes snapshots together with the files that only they need
        if count := len(looked.get(found, ())):
            return interaction.agrees(f"Remove {count} {found} of {looked['address']}?")
    return True


def _echo(facts: Mapping[str, Any]) -> None:
    removed = "would be removed" if facts["dry_run"] else "removed"
    if "snapshots" in facts:
        for snapshot in facts["snapshots"]:
            click.echo(f"snapshot {snapshot['snapshot_id']} of {snapshot['committed_at']}: {removed}")
        for reason, kept in facts["kept"].items():
            click.echo(f"{len(kept)} snapshots kept: needed by {NEEDED_BY.get(reason, reason)}")
        for each in facts["followers"]:
            release = f"`catchment state reset {each['workflow']} {each['job']}` releases it"
            where = f"job {each['job']} of workflow {each['workflow']} (input {each['input']})"
            click.echo(f"  {where} is at snapshot {each['snapshot_id']} since {each['since']}; {release}")
    elif "files" in facts:
        for path in facts["files"][:SHOWN]:
            click.echo(f"{path}: {removed}")
        click.echo(f"{len(facts['files'])} files {removed}, {facts['spared']} kept for unfinished writes")
        return
    counts = [
        f"{value} {key.replace('_', ' ')}"
        for key, value in facts.items()
        if isinstance(value, int) and key != "dry_run" and (value or not facts["dry_run"])
    ]
    if counts:
        click.echo(f"{'would be: ' if facts['dry_run'] else ''}{', '.join(counts)}")
    elif not facts.get("snapshots"):
        click.echo("nothing to do")


def _moment(text: str | None) -> int | None:
    from catchment.timestamps import EXAMPLE, milliseconds_or_ago

    try:
        return None if text is None else milliseconds_or_ago(text)
    except ValueError as error:
        hint = f"{EXAMPLE}, or how old: `7d`, `12h`"
        raise RequestError(f"`{text}` is no moment", code="bad-timestamp", hint=hint) from error
