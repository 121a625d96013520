"""Tracks what a session has cached. Spark's cache is shared by the whole application: other jobs would read it, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

MAY_CACHE = frozenset({"CompoundBody", "UnresolvedExecuteImmediate"})
"""Plans with statements inside that nobody sees before they run."""


@dataclass(frozen=True)
class Cached:
    """What one statement has cached."""

    table: str | None
    """None if nobody can tell."""
    catalog: str
    namespace: str
    """Where the name was looked up."""


_cached: WeakKeyDictionary[SparkSession, list[Cached]] = WeakKeyDictionary()


def remember(spark: SparkSession, parsed: Any, name: str) -> None:
    """Note what a parsed statement caches, before it runs; `name` is the name of its plan."""
    parts: list[str] = []
    if name == "CacheTableAsSelect":
        parts = [str(parsed.tempViewName())]
    elif name == "CacheTable":
        identifier = parsed.multipartIdentifier()
        parts = [str(identifier.apply(index)) for index in range(identifier.size())]
    elif name not in MAY_CACHE:
        return
    quoted = ".".join(f"`{part.replace('`', '``')}`" for part in parts) or None
    place = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    _cached.setdefault(spark, []).append(Cached(quoted, *place))


def uncache(spark: SparkSession) -> None:
    """Drop from the cache what the statements of a session have put there; the session is of no more use then."""
    for each in _cached.pop(spark, []):
        try:
            if each.table is None:
                spark.catalog.clearCache()
                continue
            spark.catalog.setCurrentCatalog(each.catalog)
            spark.catalog.setCurrentDatabase(each.namespace)
            spark.sql(f"UNCACHE TABLE IF EXISTS {each.table}")
        except (PySparkException, Py4JError):  # the namespace may be gone
            spark.catalog.clearCache()
