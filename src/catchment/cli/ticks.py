"""`catchment ticks [WORKFLOW]`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import options, printing, secrecy

if TYPE_CHECKING:
    from catchment.run.schedule.reports import TickReport


@click.command()
@click.argument("workflow", metavar="[WORKFLOW]", required=False)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="List at most this many ticks."
)
@options.reporting
def ticks(workflow: str | None, limit: int, where: Path, output: str) -> None:
    """List the newest ticks of schedules and what became of each."""
    from catchment.run.schedule import reports

    listed = reports.newest(secrecy.open_project(where), limit, workflow)
    if output == "json":
        printing.echo_json(secrecy.redactor().data({"ticks": [asdict(tick) for tick in listed]}))
    elif not listed:
        printing.tell("no ticks yet")
    else:
        printing.echo_table(("tick", "workflow", "status", "run", "seconds", "why"), map(_row, listed))


def _row(tick: TickReport) -> tuple[object, ...]:
    at = tick.tick.strftime("%Y-%m-%d %H:%M:%S UTC")
    why = tick.reason or (tick.error.message if tick.error else None)
    return at, tick.workflow, tick.status, tick.run_id, round(tick.seconds, 1), secrecy.redactor().text(why or "")
