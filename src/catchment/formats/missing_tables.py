"""The error for a table that does not exist."""

from __future__ import annotations

from catchment.errors import JobError
from catchment.plan.model import Dataset


def table_not_found(dataset: Dataset) -> JobError:
    """The error for a table that does not exist."""
    return JobError(
        f"there is no table {dataset.address}",
        code="table-not-found",
        hint="check the address; `catchment table ls` lists the tables of a depot",
    )
