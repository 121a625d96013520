"""`catchment table health ADDRESS` and `catchment table partitions ADDRESS`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import options, printing, projects

if TYPE_CHECKING:
    from catchment.run.compaction.needs import Need
    from catchment.run.compaction.tidying import Tidying
    from catchment.table_health import TableHealth

SHOWN = 20
"""How many partitions are printed as text; JSON has more."""
_ABOUT = (
    *("address", "files", "bytes", "small_files", "small_share", "delete_files", "level0_files", "manifests"),
    *("snapshots", "last_compaction", "partition_count", "verdict", "command"),
)
_OF_PARTITION = ("partition", "files", "bytes", "small_files", "delete_files", "level0_files", "changed")


@click.command()
@click.argument("address")
@options.reporting
def health(address: str, where: Path, output: str) -> None:
    """Show how well the files of a table serve its readers, what it needs, and the command for that."""
    facts = _ask(address, where)
    if output == "json":
        printing.echo_json(facts)
    else:
        _echo(facts)


@click.command()
@click.argument("address")
@options.reporting
def partitions(address: str, where: Path, output: str) -> None:
    """List the partitions of a table: files, bytes, and when each was last written."""
    facts = _ask(address, where)
    found = sorted(facts["partitions"], key=lambda each: str(each["partition"]))
    missing = facts["partition_count"] - len(found)
    if missing:
        printing.tell(f"{missing} more partitions, with the least to do, are not listed")
    if output == "json":
        printing.echo_json({"partitions": [{name: each[name] for name in _OF_PARTITION} for each in found]})
    else:
        printing.echo_table(_OF_PARTITION, ([each[name] for name in _OF_PARTITION] for each in found))


def _ask(address: str, where: Path) -> Mapping[str, Any]:
    from catchment.run.compaction.health import health as table_health

    project = projects.open_project(where)
    answer = table_health(project, address, tell=printing.tell, explain=projects.explain)
    facts: Mapping[str, Any] = projects.redactor().data(_facts(*answer))
    return facts


def _facts(found: TableHealth, needs: tuple[Need, ...], tidying: Tidying) -> Mapping[str, Any]:
    problems = [*_of_partitions(found, needs), *_of_manifests(found, tidying)]
    reasons = {need.name: list(need.reasons) for need in needs}
    whole = {key: value for key, value in asdict(found).items() if key not in ("partitions", "last_compaction")}
    return {
        **whole,
        "small_share": round(found.small_share, 3),
        "last_compaction": _moment(found.last_compaction),
        **asdict(tidying),
        "verdict": "; ".join(problems) or "healthy",
        "command": f"catchment compact {found.address}" if problems else None,
        "partitions": [_partition(need_name, each, reasons) for need_name, each in _named(found)],
    }


def _named(found: TableHealth) -> list[tuple[str, Any]]:
    from catchment.run.compaction.needs import Need

    return [(Need(each, ()).name, each) for each in found.partitions]


def _partition(name: str, each: Any, reasons: Mapping[str, list[str]]) -> Mapping[str, Any]:
    facts = asdict(each)
    return {**facts, "partition": name, "changed": _moment(each.changed), "reasons": reasons.get(name, [])}


def _of_partitions(found: TableHealth, needs: tuple[Need, ...]) -> Iterator[str]:
    if needs:
        yield f"{len(needs)} of {found.partition_count} partitions need compaction"


def _of_manifests(found: TableHealth, tidying: Tidying) -> Iterator[str]:
    if tidying.merges_manifests:
        yield f"{found.manifests} manifests need merging"


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, tz=timezone.utc).isoformat(timespec="seconds")


def _echo(facts: Mapping[str, Any]) -> None:
    for name in _ABOUT:
        if facts[name] is not None:
            click.echo(f"{name.replace('_', ' ')}: {printing.cell_text(facts[name])}")
    if facts["expires_snapshots"]:
        click.echo("a compaction expires old snapshots that nobody needs")
    needy = [each for each in facts["partitions"] if each["reasons"]]
    if needy:
        click.echo()
        columns = ("partition", "files", "bytes", "small_files", "delete_files", "level0_files")
        rows = ((*(each[name] for name in columns), "; ".join(each["reasons"])) for each in needy[:SHOWN])
        printing.echo_table((*columns, "why"), rows)
