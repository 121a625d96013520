"""SQL on its way to Spark: what each format has to change in it, and what it must not do."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from catchment.errors import CatchmentError
from catchment.formats.model import Publishes, RewritesSql
from catchment.formats.registry import open_all
from catchment.formats.sql_names import Edited
from catchment.project.model import Depot


def handed_to_spark(sql: str, depots: Sequence[Depot]) -> Edited:
    """The SQL with every table named as Spark finds it; nothing else is touched."""
    formats = open_all({depot.kind for depot in depots}, RewritesSql)
    return Edited.of(sql, [edit for format in formats for edit in format.edits(sql, depots)])


def check_statement(sql: str, depots: Sequence[Depot]) -> None:
    """Refuse a statement that some format does not let run."""
    for format in open_all({depot.kind for depot in depots}, RewritesSql):
        format.check(sql, depots)


def in_published(sql: str, depots: Sequence[Depot]) -> str:
    """A query over what was published of the depots' tables."""
    for format in open_all({depot.kind for depot in depots}, Publishes):
        sql = format.published(sql, depots)
    return sql


def explain_missing(spark: SparkSession, sql: str, depots: Sequence[Depot]) -> CatchmentError | None:
    """Why a query finds no table, where a format knows."""
    formats = open_all({depot.kind for depot in depots}, Publishes)
    return next(filter(None, (format.unpublished(spark, sql, depots) for format in formats)), None)
