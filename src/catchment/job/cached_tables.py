"""Keeps what a session caches to itself, and drops it when the session ends.

Spark has one cache for the whole application: any session whose plan is the same gets the cached rows, even if there
are newer ones. So what is cached here is a plan that no other session has: it has a mark, a condition that always holds
and names the session. Spark compares plans before it simplifies them. In a job with a step that caches, all views have
the mark from the beginning, so that steps and outputs that were made of a view before it was cached use the cache, too.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

from catchment.errors import JobError

CACHES, CACHES_QUERY = "CacheTable", "CacheTableAsSelect"
"""The names of plans that cache a table or view, and the rows of a query under a new name."""
UNCACHES, CLEARS = "UncacheTable", "ClearCacheCommand"
"""The names of plans that drop a table or view from the cache, and everything."""
_WORDS = re.compile(r"\b(un)?cache\b", re.IGNORECASE)

_cached: WeakKeyDictionary[SparkSession, list[DataFrame]] = WeakKeyDictionary()
"""What the statements of each session have cached; `uncache` forgets it."""
_marks: WeakKeyDictionary[SparkSession, str] = WeakKeyDictionary()


def mark_views(spark: SparkSession, statements: Iterable[str]) -> None:
    """Mark the views of a session from now on if one of these statements may cache something."""
    if any(map(mentions, statements)):
        _mark(spark)


def mentions(sql: str) -> bool:
    """Whether a statement may have to do with the cache: a cheap test, because every such statement has the word."""
    return bool(_WORDS.search(sql))


def as_view(frame: DataFrame) -> DataFrame:
    """The frame that a view of this session has."""
    return _private(frame) if frame.sparkSession in _marks else frame


def check_visible(sql: str) -> None:
    """Raise if a statement whose parts nobody sees before they run may cache something."""
    if mentions(sql):
        raise JobError(
            "what a script or EXECUTE IMMEDIATE caches would be read by all jobs of this engine",
            code="shared-cache",
            hint="cache it with a statement of its own",
        )


def cache_table(spark: SparkSession, sql: str, analysed: Any) -> DataFrame:
    """Cache a table or view of an analysed statement, for this session only. What all sessions share is refused."""
    parts = _listed(analysed.multipartIdentifier())
    views = spark._jsparkSession.sessionState().catalog()
    if len(parts) == 1 and views.getTempView(parts[0]).isDefined():
        view = spark.table(_quoted(parts))
        if (marked := _private(view)) is not view:
            views.dropTempView(parts[0])  # replaced in one go, Spark would drop what others have cached of such a name
            marked.createTempView(_quoted(parts))
    elif not all(map(_is_of_session, _listed(analysed.table().collectLeaves()))):
        raise JobError(
            f"what is cached of {'.'.join(parts)} would be read by all jobs of this engine",
            code="shared-cache",
            hint="cache a query of it under a new name: CACHE TABLE name AS SELECT ...",
        )
    return _run(spark, sql, parts)


def cache_query(analysed: Any, query: DataFrame) -> DataFrame:
    """Cache the rows of the query of an analysed statement, for this session only."""
    name, options = _quoted([str(analysed.tempViewName())]), _listed(analysed.options().toSeq())
    _private(query).createTempView(name)
    listed = ", ".join(f"{_text(pair._1())} = {_text(pair._2())}" for pair in options)
    told = f" OPTIONS ({listed})" if listed else ""
    lazy = "LAZY " if analysed.isLazy() else ""
    return _run(query.sparkSession, f"CACHE {lazy}TABLE {name}{told}", [str(analysed.tempViewName())])


def uncache_table(table: DataFrame) -> DataFrame:
    """Drop a table or view from the cache if this session has cached it."""
    if any(table.sameSemantics(each) for each in _cached.get(table.sparkSession, [])):
        table.unpersist()
    return _nothing(table.sparkSession)


def uncache(spark: SparkSession) -> DataFrame:
    """Drop from the cache what the statements of a session have put there.

    Spark's own statements take names, and drop what other sessions have cached under them, or made of them.
    """
    for each in _cached.pop(spark, []):
        each.unpersist()
    return _nothing(spark)


def _run(spark: SparkSession, sql: str, parts: Iterable[str]) -> DataFrame:
    _cached.setdefault(spark, []).append(spark.table(_quoted(parts)))
    return spark.sql(sql)


def _nothing(spark: SparkSession) -> DataFrame:
    """The result of a statement that has none."""
    return spark.range(0).select()


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


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]


def _quoted(parts: Iterable[str]) -> str:
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def _text(value: object) -> str:
    """A literal of SQL."""
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
