"""What `doctor` looks at. Each check says what is there, and what to do where something is missing."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from catchment.errors import CatchmentError

if TYPE_CHECKING:
    from catchment.project.model import Catalog, Depot, Project

PATIENCE = 5.0
"""Seconds that a server gets to answer."""
ENOUGH_DISK = 2 * 1024**3


@dataclass(frozen=True)
class Check:
    name: str
    status: Literal["ok", "problem", "unknown"]
    message: str
    hint: str | None = None


def every(project: Project, tell: Callable[[str], None]) -> Iterator[Check]:
    """All checks of this machine and this project, one after the other; `tell` gets lines about downloads."""
    yield Check("python", "ok", f"{sys.version.split()[0]} at {sys.executable}")
    yield java()
    for name in project.engines:
        yield engine(project, name, tell)
    yield metastore(project)
    for depot in project.depots.values():
        yield from of_depot(depot)
    yield disk(project)


def java() -> Check:
    """Is there a Java that Spark runs on?"""
    from catchment.engine import java

    try:
        found = java.find()
    except CatchmentError as error:
        return Check("java", "problem", error.message, error.hint)
    return Check("java", "ok", f"{found.version} at {found.executable}")


def engine(project: Project, name: str, tell: Callable[[str], None]) -> Check:
    """Has an engine its Spark and its jars? What is missing is brought now rather than in the first run."""
    from catchment.engine import packages
    from catchment.plan import engines

    plan = engines.reading_engine(project, name)
    try:
        installed = packages.install(plan, tell)
    except CatchmentError as error:
        return Check(f"engine {name}", "problem", error.message, error.hint)
    return Check(
        f"engine {name}", "ok", f"Spark {plan.engine.spark} on {plan.engine.master}, {len(installed.jars)} jars"
    )


def metastore(project: Project) -> Check:
    """Does the metastore open?"""
    from catchment.store import open_store

    try:
        open_store(project.metastore).close()
    except CatchmentError as error:
        return Check("metastore", "problem", error.message, error.hint)
    return Check("metastore", "ok", project.metastore)


def of_depot(depot: Depot) -> Iterator[Check]:
    """A depot's place and its catalog."""
    # What a rest catalog calls its warehouse is a name, not a place that we could look at.
    if depot.location and not (depot.catalog and depot.catalog.type == "rest"):
        yield location(depot)
    if depot.catalog:
        yield catalog(depot, depot.catalog)


def location(depot: Depot) -> Check:
    """Can a depot's place be written?"""
    from catchment.project.depots import holds_tables, is_uri

    name = f"depot {depot.name}"
    if is_uri(depot.location):
        hint = f"an engine has to try it: catchment table ls {depot.name}" if holds_tables(depot) else None
        return Check(name, "unknown", f"{depot.location} is not on this machine and was not checked", hint)
    path = Path(depot.location)
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    if not there.is_dir():
        return Check(name, "problem", f"{there} is not a directory", "mend the depot's location in catchment.yaml")
    if not os.access(there, os.W_OK | os.X_OK):
        return Check(name, "problem", f"{there} is not writable", f"chown or chmod {there}, or choose another location")
    return Check(name, "ok", str(path) if there == path else f"{path} (will be made by the first write)")


def catalog(depot: Depot, catalog: Catalog) -> Check:
    """Does a depot's catalog answer?"""
    name = f"catalog {depot.name}"
    if catalog.uri is None:
        return Check(name, "ok", f"{catalog.type} in {catalog.database or depot.location}")
    url = urlsplit(catalog.uri.removeprefix("jdbc:"))
    port = url.port or {"http": 80, "https": 443, "thrift": 9083, "postgresql": 5432, "mysql": 3306}.get(url.scheme)
    if url.hostname is None or port is None:
        return Check(name, "unknown", f"{catalog.type} at {catalog.uri} was not checked")
    try:
        socket.create_connection((url.hostname, port), timeout=PATIENCE).close()
    except OSError as error:
        hint = "start it, or mend the catalog's uri in catchment.yaml"
        return Check(name, "problem", f"{url.hostname}:{port} does not answer: {error}", hint)
    return Check(name, "ok", f"{catalog.type} answers at {url.hostname}:{port}")


def disk(project: Project) -> Check:
    """Is there room for what Spark spills and what the lake keeps?"""
    free = shutil.disk_usage(project.root).free
    message = f"{free / 1024**3:.1f} GiB free at {project.root}"
    if free < ENOUGH_DISK:
        return Check("disk", "problem", message, "make room: Spark spills to the local disk")
    return Check("disk", "ok", message)
