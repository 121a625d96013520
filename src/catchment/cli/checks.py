"""What `doctor` looks at. Each check says what is there, and what to do where something is missing."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
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


def every(project: Project) -> Iterator[Check]:
    """All checks of this machine and this project, one after the other."""
    yield Check("python", "ok", f"{sys.version.split()[0]} at {sys.executable}")
    yield java()
    yield Check("pyspark", "ok", metadata.version("pyspark"))
    for name in project.engines:
        yield packages(project, name)
    yield metastore(project)
    for depot in project.depots.values():
        yield location(depot)
        if depot.catalog:
            yield catalog(depot, depot.catalog)
    yield disk(project)


def java() -> Check:
    """Is there a Java that Spark runs on?"""


def packages(project: Project, engine: str) -> Check:
    """Are the jars of an engine in the cache already?"""


def metastore(project: Project) -> Check:
    """Does the metastore open?"""
    from catchment.store import open_store

    try:
        open_store(project.metastore)
    except CatchmentError as error:
        return Check("metastore", "problem", error.message, error.hint)
    return Check("metastore", "ok", project.metastore)


def location(depot: Depot) -> Check:
    """Can a depot's place be written?"""
    name = f"depot {depot.name}"
    url = urlsplit(depot.location)
    if url.scheme not in ("", "file"):
        hint = f"an engine has to try it: catchment table ls {depot.name}" if depot.catalog else None
        return Check(name, "unknown", f"{depot.location} is not on this machine and was not checked", hint)
    path = Path(url.path)
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
        return Check(name, "ok", f"{catalog.type}, kept with the depot")
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
