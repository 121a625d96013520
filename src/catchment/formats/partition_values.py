"""Partitions named by users: checks their columns and values, and builds the condition that selects them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from catchment.errors import RequestError
from catchment.formats.epoch_days import date_text, days_of
from catchment.plan.model import Dataset, Partition
from catchment.timestamps import as_written

WHOLE = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
"""Types of whole numbers, and their bits."""
_DAY, _ANY_DAY = re.compile(r"[+-]?\d+-\d\d-\d\d"), "2000-01-01"


@dataclass(frozen=True)
class PartitionColumn:
    """A column that a table is partitioned by."""

    name: str
    type: str
    """Spark's name for the type."""
    condition: Callable[[str], str] | None = None
    """Builds the condition for a value, if its values are not those of a table column; raises ValueError."""
    source: str | None = None
    """The SQL of the column that its values are derived from, if that is a different one."""


def check_partitions(dataset: Dataset, columns: Sequence[str], wanted: Sequence[Partition]) -> None:
    """Raise unless each partition names every partition column, and nothing else."""
    for each in wanted:
        if not columns:
            raise RequestError(
                f"{dataset.address} has no partitions, and {each} names one",
                code="not-partitioned",
                where=each.where,
                hint="leave the partition out: the whole table is one",
            )
        if unknown := [name for name in each.values if name not in columns]:
            raise RequestError(
                f"{dataset.address} is not partitioned by {', '.join(unknown)}",
                code="unknown-partition-column",
                where=each.where,
                hint=f"its partition columns are {', '.join(columns)}",
            )
        if missing := [name for name in columns if name not in each.values]:
            raise RequestError(
                f"{each} is not a partition of {dataset.address}: it does not say {', '.join(missing)}",
                code="partition-incomplete",
                where=each.where,
                hint=f"give a value for each of {', '.join(columns)}, as in {_example(columns)}",
            )


def partition_condition(dataset: Dataset, columns: Sequence[PartitionColumn], wanted: Sequence[Partition]) -> str:
    """The SQL condition for the rows of these partitions."""
    check_partitions(dataset, [column.name for column in columns], wanted)
    return " OR ".join(f"({' AND '.join(_conditions(dataset, columns, each))})" for each in wanted)


def quoted(name: str) -> str:
    """A name, quoted for Spark SQL."""
    return f"`{name.replace('`', '``')}`"


def text_literal(text: str) -> str:
    """A text as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def literal(text: str, kind: str) -> str:
    """A value as a literal of Spark SQL; raises ValueError if it is not of the type."""
    if kind in WHOLE:
        number, bits = int(text), WHOLE[kind]
        if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise ValueError(text)
        return str(number)
    if kind == "boolean":
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower()
    if kind == "date":
        return f"DATE '{date_text(days_of(text))}'"
    if kind in ("timestamp", "timestamp_ntz"):
        return _moment(text, kind)
    if kind in ("float", "double"):
        return f"CAST({text_literal(repr(float(text)))} AS {kind})"
    if kind.startswith("decimal"):
        with suppress(InvalidOperation):
            return f"CAST({text_literal(str(Decimal(text)))} AS {kind})"
        raise ValueError(text)
    if kind == "string" or kind.startswith(("varchar", "char")):
        return text_literal(text)
    raise ValueError(text)


def _moment(text: str, kind: str) -> str:
    found = _DAY.match(text)
    if found is None:
        raise ValueError(text)
    # Python's own moments end with the year 9999, so only the time of day is left to them.
    time = as_written(f"{_ANY_DAY}{text[found.end() :]}")
    zoned = time.replace(tzinfo=None) if kind == "timestamp_ntz" else time
    return f"{kind.upper()} '{date_text(days_of(found[0]))}{zoned.isoformat(sep=' ').removeprefix(_ANY_DAY)}'"


def _conditions(dataset: Dataset, columns: Sequence[PartitionColumn], wanted: Partition) -> Iterator[str]:
    for column in columns:
        value = wanted.values[column.name]
        try:
            yield _condition(column, value)
        except ValueError as error:
            raise RequestError(
                f"`{value}` is not a value of the partition column {column.name} of {dataset.address}, "
                f"whose type is {column.type}",
                code="partition-value-invalid",
                where=wanted.where,
                hint="write the value as `catchment table partitions` lists it",
            ) from error


def _condition(column: PartitionColumn, value: str | None) -> str:
    if column.condition is not None and value is not None:
        return column.condition(value)
    if value is None:
        return f"{column.source or quoted(column.name)} IS NULL"
    return f"{quoted(column.name)} = {literal(value, column.type)}"


def _example(columns: Sequence[str]) -> str:
    return ",".join(f"{name}=…" for name in columns)
