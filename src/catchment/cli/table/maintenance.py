"""`catchment table compact|rewrite-manifests|expire|remove-orphans ADDRESS`."""

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
"""Reasons that are no words of their own."""
SHOWN = 20
"""Files or partitions that are listed for people; JSON has them all."""


_dry_run = click.option("--dry-run", is_flag=True, help="Show what would be rewritten, and write nothing.")


def _destructive(command: Command) -> Command:
    for option in (
        click.option("--yes", is_flag=True, help="Do it without asking."),
        click.option("--dry-run", is_flag=True, help="Show what would go, and do nothing."),
        click.option("--older-than", metavar="MOMENT", help="Only what is older: 2026-01-31 or 2026-01-31T12:00:00Z."),
        click.option("--deletes", type=click.IntRange(min=1), help="Remove so many files at the same time."),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("address")
@click.option("--sort", metavar="ORDER", help="Sort the rows: 'col ASC NULLS LAST' or 'zorder(a, b)'.")
@click.option("--where", "condition", metavar="SQL", help="Only files that may hold such rows.")
@click.option("--property", "properties", multiple=True, metavar="KEY=VALUE", help="An option of the rewrite.")
@_dry_run
@options.reporting
def compact(
    address: str,
    sort: str | None,
    condition: str | None,
    properties: Sequence[str],
    where: Path,
    output: str,
    *,
    dry_run: bool,
) -> None:
    """Make few large data files of many small ones.

    No writer waits for it or fails because of it. The old files stay until their snapshots are expired.
    """
    from catchment.errors import Position
    from catchment.plan.model import Clause, Rewrite

    clause = Clause(condition, Position("--where", 1, 1)) if condition else None
    operation = Rewrite("sort" if sort else "binpack", sort, clause, dict(map(_property, properties)))
    _maintain(address, operation, where, output, dry_run=dry_run)


@click.command("rewrite-manifests")
@click.argument("address")
@_dry_run
@options.reporting
def rewrite_manifests(address: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Make few large manifests of many small ones, so that queries are planned faster."""
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
    """Forget old snapshots, and remove the files that only they need.

    What writes on their way, readers of the published catalog, or jobs and queries that run now may need stays, and so
    does what incremental jobs have still to read. Without --older-than, snapshots go that are older than the table says
    (five days).
    """
    from catchment.plan.model import Expire

    if snapshots and older_than:
        raise RequestError(
            "--snapshot and --older-than say differently what is meant", code="options-conflict", hint="keep one"
        )
    operation = Expire(_moment(older_than), tuple(snapshots), retain_last, deletes)
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
    """Remove files of a table that none of its snapshots refers to.

    Files of writes on their way stay, whatever their age. Without --older-than, files go that are three days old.
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
    count = len(looked[what])
    if not count:
        return True
    return interaction.agrees(f"Remove {count} {what} of {looked['address']}?")


def _echo(facts: Mapping[str, Any]) -> None:
    would = "would go" if facts["dry_run"] else "gone"
    if "snapshots" in facts:
        for snapshot in facts["snapshots"]:
            click.echo(f"snapshot {snapshot['snapshot_id']} of {snapshot['committed_at']}: {would}")
        for reason, kept in facts["kept"].items():
            click.echo(f"{len(kept)} snapshots kept: needed by {NEEDED_BY.get(reason, reason)}")
        for each in facts["followers"]:
            let_go = f"`catchment state reset {each['workflow']} {each['job']}` lets go of it"
            where = f"job {each['job']} of workflow {each['workflow']} (input {each['input']})"
            click.echo(f"  {where} is at snapshot {each['snapshot_id']} since {each['since']}; {let_go}")
    elif "files" in facts:
        for path in facts["files"][:SHOWN]:
            click.echo(f"{path}: {would}")
        click.echo(f"{len(facts['files'])} files {would}, {facts['spared']} spared for writes on their way")
        return
    _echo_partitions(facts.get("partitions", ()))
    counts = [
        f"{value} {key.replace('_', ' ')}"
        for key, value in facts.items()
        if isinstance(value, int) and key != "dry_run" and (value or not facts["dry_run"])
    ]
    if counts:
        click.echo(f"{'would be: ' if facts['dry_run'] else ''}{', '.join(counts)}")
    elif not facts.get("snapshots"):
        click.echo("nothing to do")


def _echo_partitions(parts: Sequence[Mapping[str, Any]]) -> None:
    for part in parts[:SHOWN]:
        name = part["partition"] if part["partition"] is not None else "(files of an earlier partitioning)"
        click.echo(f"{name or '(all)'}: {part['files']} files, {part['bytes']:,} bytes")
    if len(parts) > SHOWN:
        click.echo(f"and {len(parts) - SHOWN} more partitions")


def _property(text: str) -> tuple[str, str]:
    from catchment.spec.reading.table_actions import REWRITE_PROPERTIES
    from catchment.spec.validation import did_you_mean

    key, equals, value = text.partition("=")
    if not equals or key not in REWRITE_PROPERTIES:
        hint = did_you_mean(key, REWRITE_PROPERTIES) or "write --property rewrite-all=true"
        raise RequestError(f"`{text}` is no property of a rewrite", code="bad-option", hint=hint)
    return key, value


def _moment(text: str | None) -> int | None:
    from catchment.timestamps import EXAMPLE, milliseconds

    try:
        return None if text is None else milliseconds(text)
    except ValueError as error:
        raise RequestError(f"`{text}` is no moment", code="bad-timestamp", hint=EXAMPLE) from error
