"""Calls Iceberg's stored procedures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import Row, SparkSession

from catchment.plan.model import Dataset

Value = str | int | bool | Sequence[int] | Mapping[str, str] | datetime


def call(spark: SparkSession, dataset: Dataset, procedure: str, **arguments: Value | None) -> Row:
    """Call a procedure on a table; arguments that are None are left out."""
    given: dict[str, Any] = {"table": f"`{dataset.namespace}`.`{dataset.table}`", **arguments}
    listed = ", ".join(f"{name} => {_literal(value)}" for name, value in given.items() if value is not None)
    [answer] = spark.sql(f"CALL `{dataset.depot}`.system.{procedure}({listed})").collect()
    return answer


def _literal(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, Mapping):
        return f"map({', '.join(_literal(part) for entry in value.items() for part in entry)})"
    return f"array({', '.join(f'{number}L' for number in value)})"
