"""`catchment table health ADDRESS` and `catchment table partitions ADDRESS`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import options, printing, projects

if TYPE_CHECKING:
    from catchment.run.compaction.needs import Need
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
    from catchment.run.compaction import compaction_job

    project = projects.open_project(where)
    found, needs = compaction_job.health(project, address, tell=printing.tell, explain=projects.explain)
    facts: Mapping[str, Any] = projects.redactor().data(_facts(found, needs))
    return facts


def _facts(found: TableHealth, needs: tuple[Need, ...]) -> Mapping[str, Any]:
    reasons = {need.name: list(need.reasons) for need in needs}
    whole = {key: value for key, value in asdict(found).items() if key not in ("partitions", "last_compaction")}
    return {
        **whole,
        "small_share": round(found.small_share, 3),
        "last_compaction": _moment(found.last_compaction),
        "verdict": _verdict(found, needs),
        "command": f"catchment compact {found.address}" if needs else None,
        "partitions": [_partition(need_name, each, reasons) for need_name, each in _named(found)],
    }


def _named(found: TableHealth) -> list[tuple[str, Any]]:
    from catchment.run.compaction.needs import Need

    return [(Need(each, ()).name, each) for each in found.partitions]


def _partition(name: str, each: Any, reasons: Mapping[str, list[str]]) -> Mapping[str, Any]:
    facts = asdict(each)
    return {**facts, "partition": name, "changed": _moment(each.changed), "reasons": reasons.get(name, [])}


def _verdict(found: TableHealth, needs: tuple[Need, ...]) -> str:
    if not needs:
        return "healthy"
    return f"{len(needs)} of {found.partition_count} partitions need compaction"


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, tz=timezone.utc).isoformat(timespec="seconds")


def _echo(facts: Mapping[str, Any]) -> None:
    for name in _ABOUT:
        if facts[name] is not None:
            click.echo(f"{name.replace('_', ' ')}: {printing.cell_text(facts[name])}")
    needy = [each for each in facts["partitions"] if each["reasons"]]
    if needy:
        click.echo()
        columns = ("partition", "files", "bytes", "small_files", "delete_files", "level0_files")
        rows = ((*(each[name] for name in columns), "; ".join(each["reasons"])) for each in needy[:SHOWN])
        printing.echo_table((*columns, "why"), rows)
