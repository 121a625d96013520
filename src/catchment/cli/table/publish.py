"""`catchment table publish` and `catchment table publications`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import options, printing, projects
from catchment.cli.table import changing
from catchment.run_model import snapshot_name

if TYPE_CHECKING:
    from catchment.store.publications import Publication


@click.command()
@click.argument("address")
@click.option(
    "--version",
    default="latest",
    show_default=True,
    help="The version to publish: latest, v4 or a file as `table versions` lists them, or a snapshot id.",
)
@changing.change_options
def publish(address: str, version: str, where: Path, output: str, *, dry_run: bool) -> None:
    """Publish a version of a table to the readers of the published catalog.

    Nothing is written to the table: a pointer moves to one of its metadata files, in one step. Older versions can be
    published again.
    """
    changing.apply_change(
        address, "set_version", {"value": version}, changing.ChangeOptions(where, output, dry_run), _told
    )


@click.command()
@click.argument("address")
@options.reporting
def publications(address: str, where: Path, output: str) -> None:
    """List which versions of a table were published, when, and by whom."""
    from catchment.run import table_activity as record

    made = record.publications(projects.open_project(where), address)
    entries = [projects.redactor().data(_entry(each)) for each in made]
    if output == "json":
        printing.echo_json({"publications": entries})
    elif entries:
        printing.echo_table(list(entries[0]), ([printing.cell_text(cell) for cell in e.values()] for e in entries))
    else:
        click.echo("nothing there", err=True)


def _entry(made: Publication) -> dict[str, Any]:
    at = datetime.fromtimestamp(made.at or 0, tz=timezone.utc).isoformat(timespec="milliseconds")
    return {
        "published_at": at,
        "by": made.by,
        "run_id": made.run_id,
        "job": made.job,
        "catalog": made.catalog,
        "before": made.before and _name(made.before),
        "file": _name(made.file),
        "snapshot_id": snapshot_name(made.snapshot_id),
    }


def _name(location: str) -> str:
    return location.rpartition("/")[2]


def _told(facts: Mapping[str, Any]) -> str:
    after = facts["after"]
    if not facts["changed"]:
        return f"{facts['catalog']} shows {_version(after)} of {facts['address']}: nothing to do"
    shows = "would show" if facts["dry_run"] else "shows"
    before = f" (before: {_version(facts['before'])})" if facts["before"] else ""
    return f"{facts['catalog']} {shows} {_version(after)} of {facts['address']}{before}"


def _version(version: Mapping[str, Any]) -> str:
    return f"v{version['version']} {version['file']}" if version["version"] else str(version["file"])
