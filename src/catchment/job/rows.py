"""Runs queries and returns their results as JSON values, in messages of a moderate size."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from catchment.engine.protocol import Rows, RunQuery
from catchment.errors import CatchmentError, RequestError
from catchment.formats.failures import from_spark
from catchment.formats.sql import explain_missing, published_catalogs, query_published, rewrite_for_spark
from catchment.job.statements import Allowed, run_statement
from catchment.project.model import Depot

MESSAGE_CHARACTERS = 1024 * 1024
"""A message is sent once its rows have more characters than this."""
LONGEST_ROW = 64 * 1024 * 1024
FEW_ROWS = 10_000
"""Up to this many rows are fetched at once; more are fetched partition by partition, which needs less memory."""
SECONDS = DecimalType(20, 6)
EPOCH = date(1970, 1, 1).toordinal()
DAY = 86_400_000_000
CYCLE = 146_097
"""The calendar repeats after this many days: 400 years."""


def run_query(spark: SparkSession, query: RunQuery, depots: Sequence[Depot] = ()) -> Iterator[Rows]:
    """Run a query over the tables of these depots; yields messages with at most `limit` rows, the last one last."""
    sql = query_published(query.sql, depots) if query.published else query.sql
    newest = [depot.name for depot in depots] if query.published else []
    allowed = Allowed(query.write, published_catalogs(depots), newest, "allow it with --write")
    try:
        frame = run_statement(spark, rewrite_for_spark(sql, depots).sql, allowed)
        yield from _messages(query, frame, _fetched(frame, query.limit))
    except CatchmentError:
        raise
    except Exception as error:
        raise _with_reason(spark, from_spark(error, otherwise="query-failed"), sql, depots) from error


def first_rows(frame: DataFrame, count: int) -> list[list[Any]]:
    """The first rows of a frame as JSON values."""
    kinds = [field.dataType for field in frame.schema.fields]
    return [json.loads(_text_of(row, kinds)) for row in _fetched(frame, count)][:count]


_MAY_BE_UNPUBLISHED = ("table-or-view-not-found", "query-failed")
"""The second code occurs if the catalog has no database yet."""


def _with_reason(spark: SparkSession, problem: CatchmentError, sql: str, depots: Sequence[Depot]) -> CatchmentError:
    """The error, replaced by a better one if a table is missing because it was never published."""
    known = explain_missing(spark, sql, depots) if problem.code in _MAY_BE_UNPUBLISHED else None
    return known or problem


def _fetched(frame: DataFrame, limit: int | None) -> Iterable[Row]:
    # One row more than the limit shows whether the result is truncated.
    wanted = _for_python(frame if limit is None else frame.limit(limit + 1))
    few = limit is not None and limit <= FEW_ROWS
    found: Iterable[Row] = wanted.collect() if few else wanted.toLocalIterator(prefetchPartitions=True)
    return found


def _messages(query: RunQuery, frame: DataFrame, rows: Iterable[Row]) -> Iterator[Rows]:
    kinds = [field.dataType for field in frame.schema.fields]
    columns, types = tuple(frame.columns), tuple(kind.json() for kind in kinds)
    texts: list[str] = []
    size = 0
    for number, row in enumerate(rows):
        if number == query.limit:
            yield Rows(query.attempt, columns, types, tuple(texts), truncated=True)
            return
        texts.append(_text_of(row, kinds))
        size += len(texts[-1])
        if size > MESSAGE_CHARACTERS:
            yield Rows(query.attempt, columns, types, tuple(texts), more=True)
            texts, size = [], 0
    yield Rows(query.attempt, columns, types, tuple(texts))


def _text_of(row: Row, kinds: Sequence[DataType]) -> str:
    text = json.dumps([*map(_json, row, kinds)], ensure_ascii=False)
    if len(text) > LONGEST_ROW:
        raise RequestError(
            f"the result has a row of {len(text):,} characters; at most {LONGEST_ROW:,} can be returned",
            code="row-too-large",
            hint="select fewer columns, or a part of the long ones: substr(column, 1, 1000)",
        )
    return text


def _for_python(frame: DataFrame) -> DataFrame:
    """The frame with types whose values Python can hold: Spark's calendar goes beyond the years 1 to 9999."""
    readable = [_readable(field.dataType) for field in frame.schema.fields]
    if readable == [field.dataType for field in frame.schema.fields]:
        return frame
    numbered = frame.toDF(*map(str, range(len(readable))))  # two columns may have one name
    return numbered.select(*(F.col(str(number)).cast(kind) for number, kind in enumerate(readable)))


def _readable(kind: DataType) -> DataType:
    if isinstance(kind, DateType | TimestampNTZType | YearMonthIntervalType):
        return StringType()
    if isinstance(kind, TimestampType):
        return SECONDS  # since 1970; as text it would depend on the time zone of the session
    if isinstance(kind, ArrayType):
        return ArrayType(_readable(kind.elementType))
    if isinstance(kind, MapType):  # Spark does not convert keys if that could fail
        return MapType(kind.keyType, _readable(kind.valueType))
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _readable(field.dataType)) for field in kind.fields])
    return kind


def _json(value: Any, kind: DataType) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _local_time(value) if isinstance(kind, TimestampNTZType) else value
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
    if isinstance(value, Decimal) and isinstance(kind, TimestampType):
        return _moment(value)
    if isinstance(value, datetime):
        # Spark returns timestamps without a zone, in the worker's time zone, which is UTC.
        return value.isoformat() + ("Z" if isinstance(kind, TimestampType) else "")
    return value.isoformat() if isinstance(value, date) else str(value)


def _local_time(text: str) -> str:
    """A timestamp without a zone, from Spark's notation."""
    day, _, rest = text.partition(" ")
    clock, _, fraction = rest.partition(".")
    return f"{day}T{clock}.{fraction:0<6}" if fraction else f"{day}T{clock}"


def _moment(seconds: Decimal) -> str:
    """A timestamp in UTC; years beyond 9999 and before 1 are written as Spark writes them."""
    days, micros = divmod(int(seconds.scaleb(6)), DAY)
    cycles, ordinal = divmod(days + EPOCH - 1, CYCLE)
    day = date.fromordinal(ordinal + 1)
    year = day.year + 400 * cycles
    sign = "+" if year > 9999 else ""
    clock = (datetime.combine(day, time()) + timedelta(microseconds=micros)).time().isoformat()
    return f"{sign}{year:0{5 if year < 0 else 4}d}-{day:%m-%d}T{clock}Z"
