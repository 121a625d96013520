"""How the columns of an output differ from those of its table, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Columns = Sequence[Mapping[str, Any]]


def column_changes(columns: Columns, table: Columns | None) -> Iterator[str]:
    """Each difference; all columns are new if there is no table yet."""
    now, then = ({each["name"].lower(): each["type"] for each in some or ()} for some in (columns, table))
    for name, kind in now.items():
        if name not in then:
            yield f"new column {name} {kind}"
        elif then[name] != kind:
            yield f"column {name} {then[name]} as {kind}"
    yield from (f"without column {name}" for name in then if name not in now)
