"""Prepares SQL for Spark: formats replace the names of their tables."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from catchment.errors import CatchmentError
from catchment.formats.model import Publishes, RewritesSql
from catchment.formats.registry import open_all
from catchment.formats.sql_names import Edited
from catchment.project.model import Depot


def rewrite_for_spark(sql: str, depots: Sequence[Depot]) -> Edited:
    """The SQL with the names under which Spark finds the tables; nothing else is changed."""
    formats = open_all({depot.kind for depot in depots}, RewritesSql)
    return Edited.of(sql, [edit for format in formats for edit in format.edits(sql, depots)])


def published_catalogs(depots: Sequence[Depot]) -> tuple[str, ...]:
    """The published catalogs of the depots, which nobody may write to."""
    return tuple(depot.publish for depot in depots if depot.publish)


def query_published(sql: str, depots: Sequence[Depot]) -> str:
    """The query over the published versions of the depots' tables."""
    for format in open_all({depot.kind for depot in depots}, Publishes):
        sql = format.published(sql, depots)
    return sql


def explain_missing(spark: SparkSession, sql: str, depots: Sequence[Depot]) -> CatchmentError | None:
    """The reason why a query does not find a table, if a format knows it."""
    formats = open_all({depot.kind for depot in depots}, Publishes)
    return next(filter(None, (format.unpublished(spark, sql, depots) for format in formats)), None)
