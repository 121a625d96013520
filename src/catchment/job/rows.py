"""Query results as JSON values."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from catchment.engine.protocol import Rows, RunQuery
from catchment.errors import CatchmentError
from catchment.formats.failures import from_spark
from catchment.formats.sql import check_statement, explain_missing, query_published, rewrite_for_spark
from catchment.project.model import Depot


def run_query(spark: SparkSession, query: RunQuery, depots: Sequence[Depot] = ()) -> Rows:
    """Run a query over the tables of these depots and return its rows, `limit` at most."""
    sql = query_published(query.sql, depots) if query.published else query.sql
    check_statement(sql, depots)
    try:
        frame = spark.sql(rewrite_for_spark(sql, depots).sql)
        # One row more than asked for tells whether there would have been more.
        rows = (frame if query.limit is None else frame.limit(query.limit + 1)).collect()
    except Exception as error:
        raise _explained(spark, from_spark(error, otherwise="query-failed"), sql, depots) from error
    shown = rows if query.limit is None else rows[: query.limit]
    types = [field.dataType for field in frame.schema.fields]
    values = tuple(tuple(map(_json, row, types)) for row in shown)
    return Rows(query.attempt, tuple(frame.columns), values, truncated=len(shown) < len(rows))


def _explained(spark: SparkSession, problem: CatchmentError, sql: str, depots: Sequence[Depot]) -> CatchmentError:
    """The error with its reason, where a table is not there because nobody has published it."""
    known = explain_missing(spark, sql, depots) if problem.code == "table-or-view-not-found" else None
    return known or problem


def _json(value: Any, kind: DataType) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, Row | list | dict):
        return _nested(value, kind)
    return _text(value, kind)


def _nested(value: Row | list[Any] | dict[Any, Any], kind: DataType) -> Any:
    if isinstance(kind, StructType):
        return {field.name: _json(part, field.dataType) for field, part in zip(kind.fields, value, strict=True)}
    if isinstance(kind, MapType) and isinstance(value, dict):
        return {str(_json(key, kind.keyType)): _json(part, kind.valueType) for key, part in value.items()}
    return [_json(part, kind.elementType) for part in value] if isinstance(kind, ArrayType) else str(value)


def _text(value: Any, kind: DataType) -> str:
    if isinstance(value, datetime):
        # The worker's own time zone is UTC, and that is how Spark hands moments over: without a zone.
        return value.isoformat() + ("Z" if isinstance(kind, TimestampType) else "")
    return value.isoformat() if isinstance(value, date) else str(value)
