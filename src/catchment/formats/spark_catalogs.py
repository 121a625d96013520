"""The catalogs that a Spark session has opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession


def opened_catalogs(session: SparkSession, kind: str) -> Iterator[Any]:
    """The catalogs of a Java class that a session has opened, which Spark never closes."""
    manager = session._jsparkSession.sessionState().catalogManager()
    for name in str(manager.listCatalogs(session._jvm.scala.Option.empty()).mkString("\n")).split("\n"):
        catalog = manager.catalog(name)
        if catalog.getClass().getName() == kind:
            yield catalog
