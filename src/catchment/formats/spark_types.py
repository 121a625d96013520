"""Spark's names of types, from its JSON. No Spark here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_COLLATIONS = "__COLLATIONS"
"""The metadata of a column that has the collations of the texts in it, by their places."""


def column_type(field: Mapping[str, Any]) -> str:
    """The type of a column as SQL writes it, from Spark's JSON of the column."""
    return _type(field["type"], field["name"], field.get("metadata", {}).get(_COLLATIONS, {}))


def _type(kind: Any, place: str, collations: Mapping[str, str]) -> str:
    if isinstance(kind, str):
        collated = collations.get(place)
        return f"string collate {collated.rpartition('.')[2]}" if collated else _NAMES.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{_type(kind['elementType'], f'{place}.element', collations)}>"
    if kind["type"] == "map":
        key, value = (_type(kind[f"{part}Type"], f"{place}.{part}", collations) for part in ("key", "value"))
        return f"map<{key},{value}>"
    if kind["type"] == "struct":
        fields = (f"{field['name']}:{column_type(field)}" for field in kind["fields"])
        return f"struct<{','.join(fields)}>"
    return str(kind["type"])
