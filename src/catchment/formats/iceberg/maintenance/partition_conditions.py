"""The conditions that select partitions of an Iceberg table, for every transform."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.partition_values import PartitionColumn, literal, partition_condition, quoted
from catchment.jvm.classes import Jvm
from catchment.plan.model import Rewrite

_ARGUMENT = re.compile(r"(bucket|truncate)\[(\d+)\]")
_PERIODS = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%d-%H"}
"""How partition names spell the values of time transforms."""


def condition_of(maintained: MaintainedTable, operation: Rewrite) -> str | None:
    """The condition for the files of a rewrite; None for all of them."""
    given = operation.condition.sql if operation.condition else None
    if not operation.partitions:
        return given
    chosen = partition_condition(maintained.dataset, list(_columns(maintained)), operation.partitions)
    return f"({given}) AND ({chosen})" if given else chosen


def _columns(maintained: MaintainedTable) -> Iterator[PartitionColumn]:
    table, jvm = maintained.table, Jvm.of(maintained.spark)
    schema = table.schema()
    types = {
        field["name"]: field["type"]
        for field in json.loads(str(jvm("org.apache.iceberg.spark.SparkSchemaUtil").convert(schema).json()))["fields"]
    }
    for field in table.spec().fields():
        transform, source = str(field.transform().toString()), str(schema.findColumnName(field.sourceId()))
        if transform != "void":
            yield _column(str(field.name()), transform, source, str(types.get(source, "string")), maintained)


def _column(name: str, transform: str, source: str, spark_type: str, maintained: MaintainedTable) -> PartitionColumn:
    kind = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}.get(spark_type, spark_type)
    if transform == "identity" and name == source:
        return PartitionColumn(name, kind)
    condition = _condition(transform, source, kind, maintained)
    return PartitionColumn(name, f"{transform} of {kind}", condition, _nested(source))


def _condition(transform: str, source: str, kind: str, maintained: MaintainedTable) -> Callable[[str], str]:
    column = _nested(source)
    if transform == "identity":
        return lambda value: f"{column} = {literal(value, kind)}"
    if transform in _PERIODS:
        return partial(_in_period, column, kind, transform)
    known = _ARGUMENT.fullmatch(transform)
    if known is None:
        return _unknown
    function = f"`{maintained.dataset.depot}`.system.{known[1]}({known[2]}, {column})"
    return lambda value: f"{function} = {literal(value, 'int' if known[1] == 'bucket' else kind)}"


def _in_period(column: str, kind: str, transform: str, value: str) -> str:
    first = datetime.strptime(value, _PERIODS[transform])
    spelled = partial(_spelled, kind=kind)
    return f"{column} >= {spelled(first)} AND {column} < {spelled(_next(first, transform))}"


def _spelled(moment: datetime, kind: str) -> str:
    if kind == "date":
        return literal(date(moment.year, moment.month, moment.day).isoformat(), kind)
    zone = "+00:00" if kind == "timestamp" else ""
    return literal(f"{moment.isoformat()}{zone}", kind)


def _next(first: datetime, transform: str) -> datetime:
    if transform in ("day", "hour"):
        return first + (timedelta(days=1) if transform == "day" else timedelta(hours=1))
    months = first.year * 12 + first.month - 1 + (12 if transform == "year" else 1)
    return datetime(months // 12, months % 12 + 1, 1)


def _nested(source: str) -> str:
    return ".".join(quoted(part) for part in source.split("."))


def _unknown(value: str) -> Any:
    raise ValueError(value)
