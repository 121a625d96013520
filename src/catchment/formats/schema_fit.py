"""Compares the schema of rows with that of their table before any data is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StructField,
    StructType,
)

from catchment.errors import JobError
from catchment.formats.model import Write

WIDER: dict[type[DataType], tuple[type[DataType], ...]] = {
    ByteType: (ShortType, IntegerType, LongType),
    ShortType: (IntegerType, LongType),
    IntegerType: (LongType,),
    FloatType: (DoubleType,),
}
"""Types that hold all values of another type: Iceberg's promotions, and Spark's small integers."""


@dataclass(frozen=True)
class Difference:
    """One difference between the schemas of rows and table."""

    text: str
    mergeable: bool
    """The difference can be resolved without damage to the table's rows."""
    grows: bool = False
    """Resolving it changes the table."""
    widens: bool = False
    """Resolving it changes the type of a column, which not every format can do."""
    nested: bool = False
    """It is inside a struct, an array or a map, which not every format can change."""


def differences(rows: StructType, table: StructType) -> list[Difference]:
    """All differences between the schemas of rows and table, regardless of the order of columns."""
    return list(_of_fields(rows, table, ""))


def missing_columns(rows: StructType, table: StructType) -> list[StructField]:
    """Columns of the table that the rows do not have."""
    brought = {field.name.lower() for field in rows.fields}
    return [field for field in table.fields if field.name.lower() not in brought]


def columns_without_type(rows: StructType) -> list[str]:
    """Columns that are a bare NULL, or contain one, and so have no type that could be stored."""
    return [field.name for field in rows.fields if _has_no_type(field.dataType)]


def _has_no_type(kind: DataType) -> bool:
    match kind:
        case StructType():
            return bool(columns_without_type(kind))
        case ArrayType():
            return _has_no_type(kind.elementType)
        case MapType():
            return _has_no_type(kind.keyType) or _has_no_type(kind.valueType)
        case _:
            return isinstance(kind, NullType)


def _of_fields(rows: StructType, table: StructType, path: str) -> Iterator[Difference]:
    brought = {field.name.lower(): field for field in rows.fields}
    for field in table.fields:
        name = path + field.name
        found = brought.pop(field.name.lower(), None)
        if found is None:
            text = f"column {name} ({field.dataType.simpleString()}) is missing from the rows"
            yield Difference(text, mergeable=field.nullable and not path, nested=bool(path))
            continue
        if found.nullable and not field.nullable:
            yield Difference(f"column {name} may be null in the rows but not in the table", mergeable=False)
        yield from _of_types(found.dataType, field.dataType, name, nested=bool(path))
    for field in brought.values():
        text = f"column {path}{field.name} ({field.dataType.simpleString()}) is not in the table"
        yield Difference(text, mergeable=True, grows=True, nested=bool(path))


def _of_types(rows: DataType, table: DataType, name: str, *, nested: bool) -> Iterator[Difference]:
    if isinstance(rows, StructType) and isinstance(table, StructType):
        yield from _of_fields(rows, table, f"{name}.")
    elif isinstance(rows, ArrayType) and isinstance(table, ArrayType):
        yield from _of_types(rows.elementType, table.elementType, f"{name}.element", nested=True)
    elif isinstance(rows, MapType) and isinstance(table, MapType):
        yield from _of_types(rows.keyType, table.keyType, f"{name}.key", nested=True)
        yield from _of_types(rows.valueType, table.valueType, f"{name}.value", nested=True)
    elif not fits(rows, table):
        text = f"column {name} is {rows.simpleString()} in the rows and {table.simpleString()} in the table"
        yield Difference(text, mergeable=fits(table, rows), grows=True, widens=True, nested=nested)


def fits(narrow: DataType, wide: DataType) -> bool:
    """Whether the wide type holds every value of the narrow one."""
    if narrow == wide or isinstance(narrow, NullType):
        return True
    if isinstance(narrow, DecimalType) and isinstance(wide, DecimalType):
        return bool(narrow.scale == wide.scale and narrow.precision <= wide.precision)
    return type(wide) in WIDER.get(type(narrow), ())


def check(write: Write, found: Sequence[Difference]) -> None:
    """Raise if a difference cannot be resolved, or if the output does not allow schema changes."""
    refused = [difference for difference in found if not (write.output.merge_schema and difference.mergeable)]
    if refused:
        raise JobError(
            f"the rows do not fit {write.output.dataset.address}: {'; '.join(each.text for each in refused)}",
            code="schema-mismatch",
            where=write.output.where,
            hint=f"select or cast the columns in the last step{_merged(refused)}",
        )


def _merged(refused: Sequence[Difference]) -> str:
    """What `mergeSchema` would do about differences; empty if it cannot resolve all of them."""
    if not all(each.mergeable for each in refused):
        return ""
    grows = ["the table would be extended"] if any(each.grows for each in refused) else []
    nulls = [] if all(each.grows for each in refused) else ["missing columns would be written as nulls"]
    return f"; with `mergeSchema: true` {' and '.join(grows + nulls)}"


def not_storable(write: Write, store: str, what: str) -> JobError:
    """The error for a column whose type the format does not have."""
    return JobError(
        f"output {write.output.name} has a column that {store} cannot store: {what}",
        code="type-not-storable",
        where=write.output.where,
        hint="cast it in the last step; a NULL needs a type, as in CAST(NULL AS STRING)",
    )
