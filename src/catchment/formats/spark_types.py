"""Spark's type names, from its JSON. No Spark here."""

from __future__ import annotations

from typing import Any

_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


def simple_type(kind: Any) -> str:
    """The SQL name of a type, from Spark's JSON."""
    if isinstance(kind, str):
        return _NAMES.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{simple_type(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{simple_type(kind['keyType'])},{simple_type(kind['valueType'])}>"
    if kind["type"] == "struct":
        fields = (f"{field['name']}:{simple_type(field['type'])}" for field in kind["fields"])
        return f"struct<{','.join(fields)}>"
    return str(kind["type"])
