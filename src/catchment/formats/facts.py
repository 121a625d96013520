"""Reports for users, as plain data. No Spark here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Facts = Mapping[str, Any]
"""A report for users, as plain JSON."""


def listed_tables(depot: str, names: Iterable[tuple[str, str]]) -> list[Facts]:
    """The report of a depot's tables, from pairs of collection and table, in their order."""
    return [
        {"namespace": namespace, "table": name, "address": f"dataos://{depot}:{namespace}/{name}"}
        for namespace, name in sorted(names)
    ]
