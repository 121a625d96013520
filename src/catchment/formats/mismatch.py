"""Rows that do not fit their table: refused before any data moves."""

from __future__ import annotations

from collections.abc import Sequence

from catchment.errors import JobError
from catchment.formats.differences import Difference
from catchment.formats.model import Write


def check(write: Write, found: Sequence[Difference]) -> None:
    """Raise where the differences cannot be brought together, or nobody asked for it."""
    refused = [difference for difference in found if not (write.output.merge_schema and difference.mergeable)]
    if refused:
        merge = "; `mergeSchema: true` would let the table grow" if all(each.mergeable for each in refused) else ""
        raise JobError(
            f"the rows do not fit {write.output.dataset.address}: {'; '.join(each.text for each in refused)}",
            code="schema-mismatch",
            where=write.output.where,
            hint=f"select or cast the columns in the last step{merge}",
        )


def not_storable(write: Write, store: str, what: str) -> JobError:
    """A column of a type that the format does not have."""
    return JobError(
        f"output {write.output.name} has a column that {store} cannot store: {what}",
        code="type-not-storable",
        where=write.output.where,
        hint="cast it in the last step; a NULL needs a type, as in CAST(NULL AS STRING)",
    )
