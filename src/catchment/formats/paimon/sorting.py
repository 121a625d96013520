"""The order of a rewrite, as arguments of Paimon's compaction."""

from __future__ import annotations

import re
from collections.abc import Mapping

from catchment.errors import JobError
from catchment.formats.rewrite_options import zorder_columns
from catchment.plan.model import Dataset, Rewrite

_COLUMN = re.compile(r"(?:`([^`]+)`|([^\s()`]+))(?:\s+ASC)?(?:\s+NULLS\s+FIRST)?", re.IGNORECASE)
"""Paimon takes names only, and puts the smallest value first, and nulls before it."""


def sorting_of(dataset: Dataset, operation: Rewrite) -> Mapping[str, str]:
    """The arguments that sort the rows; none if they are not sorted. Raises if Paimon does not have the order."""
    if operation.strategy != "sort":
        return {}
    along = zorder_columns(operation.order)
    columns = [_COLUMN.fullmatch(each.strip()) for each in (along or operation.order or "").split(",")]
    names = [found[1] or found[2] for found in columns if found]
    if len(names) < len(columns):
        raise JobError(
            f"Paimon sorts {dataset.address} by columns in ascending order only, nulls first, or along a z-order",
            code="unsupported-option",
            hint="write the order as `a, b` or zorder(a, b)",
        )
    return {"order_strategy": "zorder" if along else "order", "order_by": ",".join(names)}
