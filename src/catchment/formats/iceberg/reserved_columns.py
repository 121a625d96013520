"""Column names that Iceberg reserves: a table with such a column cannot be read."""

from __future__ import annotations

from collections.abc import Iterable

from catchment.errors import JobError

RESERVED = frozenset(
    {
        *("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"),
        *("_change_type", "_change_ordinal", "_commit_snapshot_id"),
    }
)


def check_names(columns: Iterable[str], address: str) -> None:
    """Raise if a column of a table has a name that Iceberg reserves."""
    taken = [name for name in columns if name.lower() in RESERVED]
    if taken:
        raise JobError(
            f"{address} cannot have a column named {', '.join(taken)}: in every Iceberg table the name stands for "
            "something that Iceberg knows about the row",
            code="reserved-column",
            hint=f"give it another name, as in SELECT {taken[0]} AS source{taken[0].lower()}",
        )
