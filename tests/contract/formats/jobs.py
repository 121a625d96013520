"""The jobs of the contract: rows (id, mark, part) in directories or partitions by part, three rows in each."""

from __future__ import annotations

from typing import Any

from catchment.plan.model import Dataset, JobPlan
from tests.spark.lake import by, writing

PART = (by("identity", "part"),)
NOTHING = "SELECT 0L AS id, 'none' AS mark, 0 AS part WHERE false"


def put(target: Dataset, mark: str, *parts: int | None, mode: str = "overwrite-partitions", **more: Any) -> JobPlan:
    """A job that writes three rows with its mark into each of the partitions."""
    listed = ", ".join("NULL" if part is None else str(part) for part in parts)
    sql = f"SELECT id, '{mark}' AS mark, part FROM range(3), (SELECT explode(array({listed})) AS part)"
    return writing(sql, target, name=mark, mode=mode, partitions=PART, **more)


def put_sql(target: Dataset, sql: str, mode: str, **more: Any) -> JobPlan:
    """A job that writes the rows of a query."""
    return writing(sql, target, mode=mode, partitions=PART, **more)


def whole(**marks: tuple[int | None, ...]) -> list[tuple[int, str, int | None]]:
    """The rows of a dataset whose partitions were written under these marks, in the order of `Kind.rows`."""
    rows = [(id, mark, part) for mark, parts in marks.items() for part in parts for id in range(3)]
    return sorted(rows, key=lambda row: (row[0], row[1], row[2] is not None, row[2] or 0))
