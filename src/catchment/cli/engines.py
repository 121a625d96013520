"""`catchment engines`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import options, printing, projects, resident

if TYPE_CHECKING:
    from catchment.run.engine_list import EngineList, EngineReport
    from catchment.store.engines import LivingEngine


@click.command()
@options.reporting
def engines(where: Path, output: str) -> None:
    """List the engines of the project, what each can read and write, and which are running now.

    Besides those of catchment.yaml there are engines that Catchment makes when a job needs them.
    """
    from catchment.run import engine_list

    found = engine_list.list_engines(projects.open_project(where))
    if output == "json":
        printing.echo_json(projects.redactor().data(_data(found)))
    else:
        _echo(found)


def _echo(found: EngineList) -> None:
    columns = ("engine", "spark", "master", "formats", "depots", "running")
    printing.echo_table(columns, projects.redactor().data([_row(engine) for engine in found.engines]))
    running = [each for engine in found.engines for each in engine.running]
    if running or found.others:
        click.echo()
        columns = ("running", "spark", "master", "process", "since", "last heard")
        printing.echo_table(columns, projects.redactor().data([*map(_running, (*running, *found.others))]))
    if found.residents:
        click.echo()
        resident.echo(found.residents)


def _row(engine: EngineReport) -> tuple[object, ...]:
    running = len(engine.running) or ("made when needed" if engine.made else "no")
    return engine.name, engine.spark, engine.master, _list(engine.formats), _list(engine.depots), str(running)


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)


def _running(living: LivingEngine) -> tuple[object, ...]:
    heard = f"{living.silent:.0f} s ago"
    return living.engine, living.spark, living.master, living.name, _time(living.started), heard


def _data(found: EngineList) -> dict[str, Any]:
    data = asdict(found)
    for living in (*(each for engine in data["engines"] for each in engine["running"]), *data["others"]):
        living["started"] = _time(living["started"])
    return {**data, "residents": [resident.data(each) for each in found.residents]}


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
