"""The result of a query: its rows as JSON, and as Python values."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from functools import cached_property
from typing import Any

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class QueryResult:
    """The rows of a query."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    """Spark's types of the columns, as JSON."""
    texts: tuple[str, ...]
    """Each row as a JSON array, as `catchment query --output json` prints it."""
    truncated: bool
    """Whether the query has more rows than the limit."""

    @cached_property
    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """Each row as Python values; a date or time outside the years 1 to 9999, which Python cannot hold, is text."""
        converts = [_from_json(json.loads(kind)) for kind in self.types]
        return tuple(
            tuple(convert(value) for convert, value in zip(converts, json.loads(text), strict=True))
            for text in self.texts
        )

    def to_arrow(self) -> Any:
        """The rows as a `pyarrow.Table`, with the types that they have in Spark."""
        from catchment.run.arrow_result import to_arrow

        return to_arrow(self.columns, self.types, self.rows)


def _from_json(kind: str | Mapping[str, Any]) -> Convert:
    """The function that makes a Python value of a JSON value of this type of Spark."""
    if isinstance(kind, str):
        name = kind.partition("(")[0]
        return _or_none(_OF_NAME[name]) if name in _OF_NAME else _as_it_is
    return _or_none(_OF_NESTED[kind["type"]](kind)) if kind["type"] in _OF_NESTED else _as_it_is


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _as_it_is(value: Any) -> Any:
    return value


def _date(text: str) -> date | str:
    return date.fromisoformat(text) if _is_ordinary(text) else text


def _local(text: str) -> datetime | str:
    return datetime.fromisoformat(text) if _is_ordinary(text) else text


def _moment(text: str) -> datetime | str:
    return datetime.fromisoformat(text[:-1]).replace(tzinfo=timezone.utc) if _is_ordinary(text) else text


def _is_ordinary(text: str) -> bool:
    """Whether the year is one of those that Python knows."""
    return text[0] not in "+-" and not text.startswith("0000")


def _array(kind: Mapping[str, Any]) -> Convert:
    convert = _from_json(kind["elementType"])
    return lambda values: [convert(value) for value in values]


def _map(kind: Mapping[str, Any]) -> Convert:
    key, value = _key(kind["keyType"]), _from_json(kind["valueType"])
    return lambda values: {key(name): value(each) for name, each in values.items()}


def _key(kind: str | Mapping[str, Any]) -> Convert:
    """Keys of JSON objects are text, whatever they were."""
    return int if kind in ("byte", "short", "integer", "long") else _from_json(kind)


def _struct(kind: Mapping[str, Any]) -> Convert:
    converts = {field["name"]: _from_json(field["type"]) for field in kind["fields"]}
    return lambda values: {name: converts[name](value) for name, value in values.items()}


_OF_NAME: Mapping[str, Convert] = {
    "date": _date,
    "timestamp": _moment,
    "timestamp_ntz": _local,
    "decimal": Decimal,
    "binary": base64.b64decode,
    "float": float,
    "double": float,
}
_OF_NESTED: Mapping[str, Callable[[Mapping[str, Any]], Convert]] = {"array": _array, "map": _map, "struct": _struct}
