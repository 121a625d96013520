"""`catchment writers`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import options, printing, projects

if TYPE_CHECKING:
    from catchment.store.activity import ActiveWrite, TableActivity

_COLUMNS = ("write", "state", "seconds", "rows", "bytes", "engine")
SET_ASIDE = "set aside"


@click.command()
@click.option("--watch", is_flag=True, help="Refresh every second until Ctrl-C; with JSON, one line each time.")
@options.reporting
def writers(where: Path, output: str, *, watch: bool) -> None:
    """Show the tables being written: open and sealed buffers, who consolidates, commits per minute."""
    from catchment.run import table_activity

    looks = table_activity.watch(projects.open_project(where))
    printing.refresh(looks if watch else islice(looks, 1), lambda look: _echo(look, output, watch=watch))


def _echo(look: Sequence[TableActivity], output: str, *, watch: bool) -> None:
    if output == "json":
        printing.echo_json({"tables": [asdict(table) for table in look]}, indent=None if watch else 2)
        return
    if not look:
        click.echo("no table is being written", err=True)
    for table in look:
        click.echo(f"{click.style(table.target, bold=True)}: {_summary(table)}")
        if table.writes:
            printing.echo_table(_COLUMNS, _rows(table.writes))
            for write in table.writes:
                if write.error:
                    click.echo(projects.redactor().text(str(write.error["message"])))
            click.echo()


def _summary(table: TableActivity) -> str:
    states = [_state(write) for write in table.writes]
    parts = [f"{states.count('open')} open, {states.count('sealed')} sealed"]
    if SET_ASIDE in states:
        parts.append(f"{states.count(SET_ASIDE)} {SET_ASIDE}: `catchment recover --retry` or `--drop` them")
    if table.lease:
        parts.append(f"{table.lease.owner} consolidates")
    parts.append(f"{table.commits_per_minute:g} commits/min of {table.writes_per_minute:g} writes/min")
    if table.leftovers:
        parts.append(f"files of {table.leftovers} abandoned writes are left: `catchment recover` removes them")
    return ", ".join(parts)


def _state(write: ActiveWrite) -> str:
    return SET_ASIDE if write.error else write.state


def _rows(writes: Iterable[ActiveWrite]) -> Iterable[tuple[object, ...]]:
    for write in writes:
        engine = write.engine if write.alive else f"{write.engine} (lost)"
        yield write.write_id, _state(write), round(write.seconds, 1), write.rows, write.bytes, engine
