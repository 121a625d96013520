"""Rows into the order that an output asks for, so that it is still there in the files."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from catchment.errors import JobError
from catchment.formats.model import Write


def sorted_rows(frame: DataFrame, write: Write, partitions: Sequence[Column]) -> DataFrame:
    """Order rows by partition first, so that each file is written from start to end, then by the columns given."""
    sort = write.output.sort
    if sort is None:
        return frame
    known = {name.lower() for name in frame.columns}
    if missing := [column.name for column in sort.columns if column.name.split(".")[0].lower() not in known]:
        raise JobError(
            f"output {write.output.name} is to be sorted by {', '.join(missing)}, which its rows do not have",
            code="column-not-found",
            where=write.output.where,
            hint=f"the columns are {', '.join(frame.columns)}",
        )
    order = [
        *partitions,
        *(F.desc(column.name) if column.descending else F.asc(column.name) for column in sort.columns),
    ]
    if sort.mode == "global":
        return frame.orderBy(*order)
    together = frame.repartition(*partitions) if partitions else frame
    return together.sortWithinPartitions(*order)
