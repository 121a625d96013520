"""`catchment up`, `catchment down`, and the hidden verb that the service of a resident engine runs."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import options, printing, projects
from catchment.cli.interaction import stop_on_signal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catchment.run.residents.control import ResidentReport

COLUMNS = ("resident engine", "service", "since", "clients", "jobs", "answered", "heap", "ends")
MEGABYTE = 2**20


@click.command()
@click.argument("engines", nargs=-1, metavar="[ENGINE]...")
@options.quiet
@options.reporting
def up(engines: tuple[str, ...], where: Path, output: str, *, quiet: bool) -> None:
    """Start engines that stay, so that other commands do not have to start one; return when they are ready.

    Without a name, all engines of the project are started. `catchment down` ends them.
    """
    project = projects.open_project(where)
    from catchment.run.residents import control

    ready = control.up(project, engines, printing.teller(quiet=quiet))
    if output == "json":
        printing.echo_json({"residents": [data(each) for each in ready]})
    else:
        echo(ready)


@click.command()
@click.argument("engines", nargs=-1, metavar="[ENGINE]...")
@options.quiet
@options.reporting
def down(engines: tuple[str, ...], where: Path, output: str, *, quiet: bool) -> None:
    """End the engines that stay: all of them, or those of these names.

    Jobs of runs that use them are lost with them, and are tried again where their `retry` says so.
    """
    project = projects.open_project(where)
    from catchment.run.residents import control

    ended = control.down(project, engines, printing.teller(quiet=quiet))
    if output == "json":
        printing.echo_json({"ended": ended})
    elif ended:
        click.echo("\n".join(ended))
    elif not quiet:
        printing.tell("no resident engine is running")


@click.command(hidden=True)
@click.argument("engine")
@click.option("--service", required=True)
@click.option("--idle", type=float)
@click.option("--depot", "depots", multiple=True)
@options.project
@options.debug
def resident(engine: str, service: str, idle: float | None, depots: tuple[str, ...], where: Path) -> None:
    """Keep an engine for other commands; the command of the services that `up` starts."""
    project = projects.open_project(where)
    from catchment.run.residents.host import host

    with stop_on_signal() as stop:
        host(project, engine, service, depots, idle, stop, printing.tell)


def echo(found: Sequence[ResidentReport]) -> None:
    """Print resident engines as a table."""
    printing.echo_table(COLUMNS, projects.redactor().data([_row(each) for each in found]))


def data(report: ResidentReport) -> dict[str, object]:
    """A resident engine as JSON."""
    found = asdict(report)
    clients = [{**each, "since": _time(each["since"])} for each in report.clients]
    answer: dict[str, object] = projects.redactor().data({**found, "since": _time(report.since), "clients": clients})
    return answer


def _row(report: ResidentReport) -> tuple[object, ...]:
    if report.since is None or report.heap_live is None or report.heap_most is None:
        return report.engine, report.service, "no answer yet", "", "", "", "", ""
    clients = ", ".join([str(each["who"]) for each in report.clients] + ["somebody who is gone"] * report.abandoned)
    clients = clients or "nobody"
    heap = f"{report.heap_live // MEGABYTE} of {report.heap_most // MEGABYTE} MB"
    ends = "with `catchment down`" if report.idle_seconds is None else f"after {report.idle_seconds / 60:.0f} idle min"
    ends = f"soon: {report.refuses}" if report.refuses else ends
    return report.engine, report.service, _time(report.since), clients, report.jobs, report.answered, heap, ends


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
