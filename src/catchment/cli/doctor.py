"""`catchment doctor`: each check says what it found, and what to do if something is missing."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import click

from catchment.cli import error_report, options, printing, projects
from catchment.errors import CatchmentError

if TYPE_CHECKING:
    from catchment.project.model import Catalog, Depot, Project

_COLORS = {"ok": "green", "problem": "red", "warning": "yellow", "unknown": "yellow"}


@click.command()
@options.reporting
def doctor(where: Path, output: str) -> None:
    """Check Java, packages, metastore, depots and disk, and say what to do about each problem."""
    found = list(all_checks(projects.open_project(where), printing.tell))
    hide = projects.redactor()
    if output == "json":
        printing.echo_json(hide.data({"checks": [asdict(check) for check in found]}))
    else:
        for check in found:
            click.echo(hide.text(_line(check)))
    if any(check.status == "problem" for check in found):
        raise click.exceptions.Exit(error_report.JOB_FAILED)


def _line(check: Check) -> str:
    status = click.style(f"{check.status:8}", fg=_COLORS[check.status])
    hint = f"\n         {click.style('hint:', fg='cyan')} {check.hint}" if check.hint else ""
    return f"{status} {check.name}: {check.message}{hint}"


PATIENCE = 5.0
"""Seconds that a server gets to answer."""
PORTS = {"http": 80, "https": 443, "thrift": 9083, "postgresql": 5432, "mysql": 3306}
ENOUGH_DISK = 2 * 1024**3


@dataclass(frozen=True)
class Check:
    name: str
    status: Literal["ok", "problem", "warning", "unknown"]
    message: str
    hint: str | None = None


def all_checks(project: Project, tell: Callable[[str], None]) -> Iterator[Check]:
    """Run all checks of this machine and this project; `tell` receives lines about downloads."""
    yield Check("python", "ok", f"{sys.version.split()[0]} at {sys.executable}")
    yield check_java()
    yield from check_engines(project, tell)
    yield check_metastore(project)
    for depot in project.depots.values():
        yield from check_depot(depot)
    yield from check_warnings(project)
    yield check_disk(project)


def check_java() -> Check:
    """Is there a Java version that Spark supports?"""
    from catchment.engine import java

    try:
        found = java.find()
    except CatchmentError as error:
        return Check("java", "problem", error.message, error.hint)
    return Check("java", "ok", f"{found.version} at {found.executable}")


def check_engines(project: Project, tell: Callable[[str], None]) -> Iterator[Check]:
    """Check the engines of the project, and those that Catchment makes because a depot needs them."""
    from catchment.plan import fitting

    names = dict.fromkeys(project.engines)
    for depot in project.depots.values():
        try:
            names[fitting.choose(project, [depot]).engine.name] = None
        except CatchmentError as error:
            yield Check(f"depot {depot.name}", "problem", error.message, error.hint)
    for name in names:
        yield check_engine(project, name, tell)


def check_engine(project: Project, name: str, tell: Callable[[str], None]) -> Check:
    """Does an engine have its Spark and its jars? Whatever is missing is downloaded now instead of in the first run."""
    from catchment.engine import packages
    from catchment.plan import engines, fitting

    plan = engines.reading_engine(project, fitting.named(project, name))
    try:
        installed = packages.install(plan, tell)
    except CatchmentError as error:
        return Check(f"engine {name}", "problem", error.message, error.hint)
    return Check(
        f"engine {name}", "ok", f"Spark {plan.engine.spark} on {plan.engine.master}, {len(installed.jars)} jars"
    )


def check_metastore(project: Project) -> Check:
    """Can the metastore be opened?"""
    from catchment.store import is_missing, open_store

    if is_missing(project.metastore):
        return _missing_metastore(Path(project.metastore.removeprefix("sqlite:///")))
    try:
        open_store(project.metastore).close()
    except CatchmentError as error:
        return Check("metastore", "problem", error.message, error.hint)
    return Check("metastore", "ok", project.metastore)


def _missing_metastore(file: Path) -> Check:
    there = _nearest(file.parent)
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return Check("metastore", "ok", f"{file} (the first run will create it)")
    hint = f"chown or chmod {there}, or set `metastore` in catchment.yaml"
    return Check("metastore", "problem", f"{there} is not a writable directory", hint)


def _nearest(path: Path) -> Path:
    """The path itself, or the nearest one above it that exists."""
    return next(parent for parent in (path, *path.parents) if parent.exists())


def check_depot(depot: Depot) -> Iterator[Check]:
    """Check a depot's location and its catalog."""
    from catchment.project.depots import is_servers

    if is_servers(depot):
        yield _check_servers(depot)
        return
    # The location of a rest catalog is the name of a warehouse, not a path that could be checked.
    if depot.location and not (depot.catalog and depot.catalog.type == "rest"):
        yield _check_location(depot)
    if depot.catalog:
        yield _check_catalog(depot, depot.catalog)


def _check_servers(depot: Depot) -> Check:
    """Does one of a depot's servers answer?"""
    name, servers = f"depot {depot.name}", (server.rpartition(":") for server in depot.location.split(","))
    answering, problems = _first_to_answer((host.strip("[]"), int(port)) for host, _, port in servers)
    if answering:
        return Check(name, "ok", f"{answering} answers; whether it accepts the credentials was not checked")
    return Check(name, "problem", "; ".join(problems), "start it, or correct the depot's location in catchment.yaml")


def _first_to_answer(servers: Iterable[tuple[str, int]]) -> tuple[str | None, list[str]]:
    """The first server that accepts a connection, and the problems of those before it."""
    problems = []
    for host, port in servers:
        try:
            socket.create_connection((host, port), timeout=PATIENCE).close()
        except OSError as error:
            problems.append(f"{host}:{port} does not answer: {error}")
        else:
            return f"{host}:{port}", problems
    return None, problems


def _check_location(depot: Depot) -> Check:
    """Can a depot's location be written?"""
    from catchment.project.depots import holds_tables, is_uri

    name = f"depot {depot.name}"
    if is_uri(depot.location):
        hint = f"let an engine try it: catchment table ls {depot.name}" if holds_tables(depot) else None
        return Check(name, "unknown", f"{depot.location} is remote and was not checked", hint)
    path = Path(depot.location)
    there = _nearest(path)
    if not there.is_dir():
        return Check(name, "problem", f"{there} is not a directory", "correct the depot's location in catchment.yaml")
    if not os.access(there, os.W_OK | os.X_OK):
        return Check(name, "problem", f"{there} is not writable", f"chown or chmod {there}, or choose another location")
    return Check(name, "ok", str(path) if there == path else f"{path} (the first write will create it)")


def _check_catalog(depot: Depot, catalog: Catalog) -> Check:
    """Does one of the servers of a depot's catalog answer?"""
    name = f"catalog {depot.name}"
    if catalog.uri is None:
        return Check(name, "ok", f"{catalog.type} in {catalog.database or depot.location}")
    servers = [_server_of(uri.strip()) for uri in catalog.uri.split(",")]  # Hive's metastore may have several
    if None in servers:
        return Check(name, "unknown", f"{catalog.type} at {catalog.uri} was not checked")
    answering, problems = _first_to_answer(filter(None, servers))
    if answering:
        return Check(name, "ok", f"{catalog.type} answers at {answering}")
    return Check(name, "problem", "; ".join(problems), "start it, or correct the catalog's uri in catchment.yaml")


def _server_of(uri: str) -> tuple[str, int] | None:
    """The host and port of a catalog's URI; None if it names none."""
    url = urlsplit(uri.removeprefix("jdbc:"))
    try:
        port = url.port or PORTS.get(url.scheme)
    except ValueError:
        return None
    return (url.hostname, port) if url.hostname and port else None


def check_warnings(project: Project) -> Iterator[Check]:
    """The warnings about the project file, each at its position."""
    for found in project.warnings:
        yield Check(str(found.where), "warning", f"{found.message} ({found.code})", found.hint)


def check_disk(project: Project) -> Check:
    """Is there enough disk space for Spark's spill files and the lake?"""
    free = shutil.disk_usage(project.root).free
    message = f"{free / 1024**3:.1f} GiB free at {project.root}"
    if free < ENOUGH_DISK:
        return Check("disk", "problem", message, "free some space: Spark spills to the local disk")
    return Check("disk", "ok", message)
