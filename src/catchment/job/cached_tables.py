"""Keeps what a session caches to itself, and drops it when the session ends.

Spark has one cache for the whole application: any session whose plan is the same gets the cached rows, even if there
are newer ones. So what is cached here is a plan that no other session has: it has a mark, a condition that always holds
and names the session. Spark compares plans before it simplifies them. In a job with a step that caches, all views have
the mark from the beginning, so that steps and outputs that were made of a view before it was cached use the cache, too.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from catchment.errors import JobError

CACHES, CACHES_QUERY = "CacheTable", "CacheTableAsSelect"
"""The names of plans that cache a table or view, and the rows of a query under a new name."""
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
    view: str | None = None
    """The view that the statement makes."""


_cached: WeakKeyDictionary[SparkSession, list[Cached]] = WeakKeyDictionary()
_marks: WeakKeyDictionary[SparkSession, str] = WeakKeyDictionary()


def mark_views(spark: SparkSession, statements: Iterable[str]) -> None:
    """Mark the views of a session from now on if one of these statements may cache something."""
    if any("cache" in sql.lower() for sql in statements):
        _mark(spark)


def as_view(frame: DataFrame) -> DataFrame:
    """The frame that a view of this session has."""
    return _private(frame) if frame.sparkSession in _marks else frame


def made_views(spark: SparkSession) -> Iterator[str]:
    """The names of the views that statements of a session have made in order to cache a query."""
    return (each.view for each in _cached.get(spark, []) if each.view is not None)


def remember(spark: SparkSession, parsed: Any, name: str) -> None:
    """Note what a parsed statement caches, before it runs; `name` is the name of its plan."""
    quoted = view = None
    if name == CACHES_QUERY:
        view = str(parsed.tempViewName())
        quoted = _quoted([view])
    elif name == CACHES:
        quoted = _quoted(_parts(parsed))
    elif name not in MAY_CACHE:
        return
    place = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    _cached.setdefault(spark, []).append(Cached(quoted, *place, view))


def make_private(spark: SparkSession, parsed: Any, read: Iterable[Any]) -> None:
    """See to it that what a parsed statement is about to cache has the mark of the session.

    `read` are the relations in it. A table that all sessions share is refused.
    """
    parts = _parts(parsed)
    views = spark._jsparkSession.sessionState().catalog()
    if len(parts) == 1 and views.getTempView(parts[0]).isDefined():
        view = spark.table(_quoted(parts))
        if (marked := _private(view)) is not view:
            marked.createOrReplaceTempView(_quoted(parts))
    elif not all(map(_is_of_session, read)):
        raise JobError(
            f"what is cached of {'.'.join(parts)} would be read by all jobs of this engine",
            code="shared-cache",
            hint="cache a query of it under a new name: CACHE TABLE name AS SELECT ...",
        )


def cache_query(spark: SparkSession, parsed: Any, query: DataFrame) -> DataFrame:
    """Cache the rows of the query of a parsed statement, for this session only."""
    name, options = _quoted([str(parsed.tempViewName())]), parsed.options().toSeq()
    _private(query).createTempView(name)
    pairs = (options.apply(index) for index in range(options.size()))
    listed = ", ".join(f"{_text(pair._1())} = {_text(pair._2())}" for pair in pairs)
    told = f" OPTIONS ({listed})" if listed else ""
    return spark.sql(f"CACHE {'LAZY ' if parsed.isLazy() else ''}TABLE {name}{told}")


def _private(frame: DataFrame) -> DataFrame:
    mark = _mark(frame.sparkSession)
    has_it = mark in str(frame._jdf.queryExecution().analyzed().toString())
    return frame if has_it else frame.where(f"'{mark}' = '{mark}'")


def _mark(spark: SparkSession) -> str:
    return _marks.setdefault(spark, uuid.uuid4().hex)


def _is_of_session(relation: Any) -> bool:
    """Whether a relation is of a catalog of its own, which each session has for itself."""
    if str(relation.getClass().getSimpleName()) != "DataSourceV2Relation":
        return False
    catalog = relation.catalog()
    return bool(catalog.isDefined()) and str(catalog.get().name()) != "spark_catalog"


def _parts(parsed: Any) -> list[str]:
    """The parts of the name of what is cached."""
    identifier = parsed.multipartIdentifier()
    return [str(identifier.apply(index)) for index in range(identifier.size())]


def _quoted(parts: Iterable[str]) -> str:
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def _text(value: object) -> str:
    """A literal of SQL."""
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


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
