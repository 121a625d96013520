"""The conditions that select partitions of an Iceberg table, for every transform."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.time_periods import TRANSFORMS, beginning, period_number
from catchment.formats.partition_values import PartitionColumn, literal, partition_condition, quoted
from catchment.jvm.classes import Jvm
from catchment.plan.model import Rewrite

SPARK_TYPES = "org.apache.iceberg.spark.SparkSchemaUtil"
_ARGUMENT = re.compile(r"(bucket|truncate)\[(\d+)\]")


def condition_of(maintained: MaintainedTable, operation: Rewrite) -> str | None:
    """The condition for the files of a rewrite; None for all of them."""
    given = operation.condition.sql if operation.condition else None
    if not operation.partitions:
        return given
    chosen = partition_condition(maintained.dataset, list(_columns(maintained)), operation.partitions)
    return f"({given}) AND ({chosen})" if given else chosen


def _columns(maintained: MaintainedTable) -> Iterator[PartitionColumn]:
    schema, spark_types = maintained.table.schema(), Jvm.of(maintained.spark)(SPARK_TYPES)
    for field in maintained.table.spec().fields():
        id, name, transform = int(field.sourceId()), str(field.name()), str(field.transform().toString())
        if transform != "void":
            source, is_nested = str(schema.findColumnName(id)), schema.asStruct().field(id) is None
            column = ".".join(map(quoted, source.split("."))) if is_nested else quoted(source)
            kind = str(spark_types.convert(schema.findType(id)).simpleString())
            condition = _condition(transform, column, kind, maintained.dataset.depot)
            yield PartitionColumn(
                name, kind if transform == "identity" else f"{transform} of {kind}", condition, column
            )


def _condition(transform: str, column: str, kind: str, depot: str) -> Callable[[str], str]:
    if transform == "identity":
        return lambda value: f"{column} = {_literal(value, kind)}"
    if transform in TRANSFORMS:
        return partial(_in_period, column, kind, transform)
    known = _ARGUMENT.fullmatch(transform)
    if known is None:
        return _unknown
    function = f"`{depot}`.system.{known[1]}({known[2]}, {column})"
    return lambda value: f"{function} = {_literal(value, 'int' if known[1] == 'bucket' else kind)}"


def _in_period(column: str, kind: str, transform: str, value: str) -> str:
    number = period_number(transform, value)
    first, end = (_moment(*beginning(transform, each), kind) for each in (number, number + 1))
    return f"{column} >= {first} AND {column} < {end}"


def _moment(day: str, hour: str, kind: str) -> str:
    if kind == "date":
        return f"DATE '{day}'"
    zone = "+00:00" if kind == "timestamp" else ""
    return f"{kind.upper()} '{day} {hour}:00:00{zone}'"


def _literal(value: str, kind: str) -> str:
    """A value as it is listed, as a literal of Spark SQL; raises ValueError if it is not of the type."""
    return f"X'{b64decode(value, validate=True).hex()}'" if kind == "binary" else literal(value, kind)


def _unknown(value: str) -> Any:
    raise ValueError(value)
