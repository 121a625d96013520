"""`catchment services ls|show|logs|stop|restart`."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import options, printing, projects, streams

if TYPE_CHECKING:
    from catchment.run.services.control import ServiceReport

_COLUMNS = ("service", "kind", "status", "started", "restarts", "host", "command")


@click.group()
def services() -> None:
    """List services, show one and its log, stop it, start it again. `--detach` of other verbs starts them."""


@services.command("ls")
@options.reporting
def ls(where: Path, output: str) -> None:
    """List services, those that started last first, also those that have ended."""
    from catchment.run.services import control

    found = control.all_services(projects.open_project(where))
    if output == "json":
        printing.echo_json(projects.redactor().data({"services": [asdict(each) for each in found]}))
    elif found:
        printing.echo_table(_COLUMNS, map(_row, found))
    else:
        printing.tell("no services yet")


@services.command("show")
@click.argument("name")
@options.reporting
def show(name: str, where: Path, output: str) -> None:
    """Show a service: its command, where it runs, and what became of it."""
    from catchment.run.services import control

    echo_one(control.show(projects.open_project(where), name), output)


@services.command("logs")
@click.argument("name")
@click.option("-f", "--follow", is_flag=True, help="Go on until the service has ended, or until Ctrl-C.")
@options.reporting
def logs(name: str, where: Path, output: str, *, follow: bool) -> None:
    """Print the log of a service: what its command prints, and when it was started and ended."""
    from catchment.run.services import control
    from catchment.run.services import logs as service_logs

    project = projects.open_project(where)
    files = service_logs.log_files(project, name)
    if output == "json":
        options.refuse(options.given("follow"), "with --output json the paths are printed", "leave one of them out")
        printing.echo_json({"files": [str(file) for file in files]})
        return
    *older, newest = files
    for file in older:
        click.echo(file.read_text(encoding="utf-8", errors="replace"), nl=False)
    ended = (lambda: not control.show(project, name).is_active) if follow else (lambda: True)
    for text in service_logs.follow(newest, ended):
        click.echo(text, nl=False)
        if streams.nobody_reads():
            return


@services.command("stop")
@click.argument("name")
@options.reporting
def stop(name: str, where: Path, output: str) -> None:
    """Stop a service as Ctrl-C stops its command, and wait until it has ended.

    If it has not ended after a minute, that is an error; stopping it again then ends it at once.
    """
    from catchment.run.services import control

    _echo_change(control.stop(projects.open_project(where), name), output)


@services.command("restart")
@click.argument("name")
@options.reporting
def restart(name: str, where: Path, output: str) -> None:
    """Start a service again with its recorded command; one that is running is stopped first.

    It runs on this machine, in its recorded directory, and with the environment of this shell.
    """
    from catchment.run.services import control

    _echo_change(control.restart(projects.open_project(where), name), output)


def echo_one(service: ServiceReport, output: str) -> None:
    """Print one service as text or as JSON."""
    data = projects.redactor().data(asdict(service))
    if output == "json":
        printing.echo_json(data)
        return
    data |= {"command": _command(service), "started": _time(service.started), "finished": _time(service.finished)}
    for key, value in data.items():
        if value is not None:
            click.echo(f"{key.replace('_', ' ')}: {value}")


def _echo_change(service: ServiceReport, output: str) -> None:
    if output == "json":
        echo_one(service, output)
    else:
        click.echo(f"service {service.name}: {_status(service)}")


def _row(service: ServiceReport) -> tuple[object, ...]:
    started, status = _time(service.started), _status(service)
    return service.name, service.kind, status, started, service.restarts, service.host, _command(service)


def _status(service: ServiceReport) -> str:
    ended = service.exit_code is not None and not service.is_active
    return f"{service.status}, exit code {service.exit_code}" if ended else service.status


def _command(service: ServiceReport) -> str:
    return projects.redactor().text(shlex.join(("catchment", *service.command)))


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S UTC")
