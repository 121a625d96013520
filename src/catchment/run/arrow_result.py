"""The result of a query as an Arrow table: each column has the Arrow type of its Spark type."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

Kind = str | Mapping[str, Any]
"""A type of Spark, as JSON has it."""
Column = tuple[Any, Callable[[Any], Any]]
"""The Arrow type, and the function that makes its value of a Python value."""


def to_arrow(columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    """The rows as a pyarrow.Table.

    A column with a date or time that Python cannot hold (before the year 1, after 9999) is a column of texts, as it is
    in Python.
    """
    arrays = [_array(json.loads(kind), [row[index] for row in rows]) for index, kind in enumerate(types)]
    return pa.Table.from_arrays(arrays, names=list(columns))


def _array(kind: Kind, values: Sequence[Any]) -> Any:
    of_type, convert = _column(kind)
    if kind in _TIMES and any(isinstance(value, str) for value in values):
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.array([None if value is None else convert(value) for value in values], of_type)


def _column(kind: Kind) -> Column:
    if isinstance(kind, Mapping):
        return _NESTED[kind["type"]](kind) if kind["type"] in _NESTED else (pa.string(), str)
    if kind.startswith("decimal"):
        digits, scale = map(int, kind.removeprefix("decimal(").removesuffix(")").split(","))
        return pa.decimal128(digits, scale), _as_it_is
    return (_PLAIN[kind], _as_it_is) if kind in _PLAIN else (pa.string(), str)


def _as_it_is(value: Any) -> Any:
    return value


def _or_none(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def _list(kind: Mapping[str, Any]) -> Column:
    of_type, convert = _column(kind["elementType"])
    return pa.list_(of_type), lambda values: [*map(_or_none(convert), values)]


def _map(kind: Mapping[str, Any]) -> Column:
    (key_type, key), (value_type, value) = _column(kind["keyType"]), _column(kind["valueType"])
    of_value = _or_none(value)
    return pa.map_(key_type, value_type), lambda values: [(key(name), of_value(each)) for name, each in values.items()]


def _struct(kind: Mapping[str, Any]) -> Column:
    fields = {field["name"]: _column(field["type"]) for field in kind["fields"]}
    of_type = pa.struct([(name, of_type) for name, (of_type, _) in fields.items()])
    converts = {name: _or_none(convert) for name, (_, convert) in fields.items()}
    return of_type, lambda values: {name: converts[name](value) for name, value in values.items()}


_TIMES = ("date", "timestamp", "timestamp_ntz")
_PLAIN: Mapping[str, Any] = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
_NESTED: Mapping[str, Callable[[Mapping[str, Any]], Column]] = {"array": _list, "map": _map, "struct": _struct}
