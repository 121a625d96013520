"""Rows and table brought together: checked before data moves. The table itself grows with the write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import AtomicType, DataType, StructType

from catchment.formats.delta.creation import check_types
from catchment.formats.delta.log import Head
from catchment.formats.model import Write
from catchment.formats.schema_fit import Difference, check, differences, fits, missing_columns

TYPE_WIDENING = "delta.enableTypeWidening"
"""The table property without which a column keeps its type for ever."""


def fit(frame: DataFrame, write: Write, head: Head) -> DataFrame:
    """The rows with every column that the table has; raises where they cannot be written into it."""
    found = [_possible(difference, head) for difference in differences(frame.schema, head.schema)]
    check(write, found)
    if any(difference.grows for difference in found):
        check_types(frame, write)
    empty = {field.name: F.lit(None).cast(field.dataType) for field in missing_columns(frame.schema, head.schema)}
    widened = {name: F.col(f"`{name}`").cast(kind) for name, kind in _narrower(frame.schema, head.schema)}
    return frame.withColumns({**empty, **widened}) if empty or widened else frame


def _possible(difference: Difference, head: Head) -> Difference:
    widens = head.properties.get(TYPE_WIDENING, "false").lower() == "true"
    return difference if widens or not difference.widens else replace(difference, mergeable=False)


def _narrower(rows: StructType, table: StructType) -> Iterator[tuple[str, DataType]]:
    """Plain columns of a narrower type than the table's: Delta takes its own type and no other."""
    own = {field.name.lower(): field.dataType for field in table.fields}
    for field in rows.fields:
        kind = own.get(field.name.lower(), field.dataType)
        # Structs are cast by position, not by name: what Delta does not take as it is, it refuses itself.
        if kind != field.dataType and isinstance(kind, AtomicType) and fits(field.dataType, kind):
            yield field.name, kind
