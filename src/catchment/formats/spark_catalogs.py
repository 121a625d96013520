"""The catalogs of a Spark session: how they are opened, and which ones are open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from catchment.formats.backoff import attempts
from catchment.jvm.causes import is_a

MAX_OPENINGS = 5
LONGEST_PAUSE_SECONDS = 0.1

Opened = TypeVar("Opened")


def open_patiently(open: Callable[[], Opened], trouble: str) -> Opened:
    """Open a catalog; retries, because two engines may create the tables of a new JDBC catalog at the same time."""
    for number in attempts(MAX_OPENINGS, longest=LONGEST_PAUSE_SECONDS):
        try:
            return open()
        except Exception as error:
            if number == MAX_OPENINGS or not is_a(error, trouble):
                raise
    raise AssertionError("the last attempt returns or raises")


def opened_catalogs(session: SparkSession, kind: str) -> Iterator[Any]:
    """The catalogs of a Java class that a session has opened, which Spark never closes."""
    manager = session._jsparkSession.sessionState().catalogManager()
    for name in str(manager.listCatalogs(session._jvm.scala.Option.empty()).mkString("\n")).split("\n"):
        catalog = manager.catalog(name)
        if catalog.getClass().getName() == kind:
            yield catalog
