"""Which rows fit which tables. Spark's types, but no Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from catchment.errors import JobError
from catchment.formats.model import Write
from catchment.formats.schema_fit import check, differences, missing_columns


def row(*, nullable: bool = True, **columns: DataType) -> StructType:
    return StructType([StructField(name, kind, nullable) for name, kind in columns.items()])


@pytest.mark.parametrize(
    ("rows", "table"),
    [
        (IntegerType(), LongType()),
        (ShortType(), IntegerType()),
        (FloatType(), DoubleType()),
        (DecimalType(5, 2), DecimalType(9, 2)),
        (NullType(), StringType()),
        (ArrayType(IntegerType()), ArrayType(LongType())),
        (MapType(StringType(), IntegerType()), MapType(StringType(), LongType())),
        (row(b=IntegerType(), a=StringType()), row(a=StringType(), b=LongType())),
    ],
)
def test_types_that_fit(rows: DataType, table: DataType) -> None:
    assert differences(row(c=rows), row(c=table)) == []


@pytest.mark.parametrize(
    ("rows", "table", "mergeable"),
    [
        (LongType(), IntegerType(), True),
        (DoubleType(), FloatType(), True),
        (DecimalType(9, 2), DecimalType(5, 2), True),
        (DecimalType(9, 3), DecimalType(9, 2), False),
        (IntegerType(), StringType(), False),
        (StringType(), IntegerType(), False),
        (IntegerType(), DoubleType(), False),
        (DateType(), TimestampType(), False),
        (TimestampType(), TimestampNTZType(), False),
        (ArrayType(StringType()), ArrayType(IntegerType()), False),
        (StringType(), ArrayType(StringType()), False),
    ],
)
def test_types_that_do_not(rows: DataType, table: DataType, mergeable: bool) -> None:
    [found] = differences(row(c=rows), row(c=table))
    assert (found.mergeable, found.grows) == (mergeable, True)
    assert found.text.startswith("column c")


def test_columns_that_only_one_side_has() -> None:
    rows, table = row(a=StringType(), new=StringType()), row(A=StringType(), old=StringType())
    missing, new = differences(rows, table)
    assert (missing.mergeable, missing.grows) == (True, False)
    assert (new.mergeable, new.grows) == (True, True)
    assert [field.name for field in missing_columns(rows, table)] == ["old"]


def test_what_must_not_be_null() -> None:
    table = row(nullable=False, a=StringType())
    assert [found.mergeable for found in differences(row(a=StringType()), table)] == [False]
    assert [found.mergeable for found in differences(row(b=StringType()), table)] == [False, True]
    assert differences(row(nullable=False, a=StringType()), row(a=StringType())) == []


def test_nested_fields_are_named_by_their_path() -> None:
    rows, table = row(s=row(a=StringType())), row(s=row(a=StringType(), b=StringType()))
    [found] = differences(rows, table)
    assert "s.b" in found.text
    assert not found.mergeable


@pytest.mark.parametrize(
    ("rows", "merged"),
    [
        (row(a=LongType(), c=LongType()), "the table would be extended and missing columns would be written as nulls"),
        (row(a=LongType(), b=LongType(), c=LongType()), "the table would be extended"),
        (row(a=LongType()), "missing columns would be written as nulls"),
        (row(a=StringType(), b=LongType()), None),
    ],
)
def test_the_hint_says_what_merge_schema_would_do(rows: StructType, merged: str | None) -> None:
    output = SimpleNamespace(merge_schema=False, where=None, dataset=SimpleNamespace(address="dataos://lake:a/b"))
    with pytest.raises(JobError) as refused:
        check(cast(Write, SimpleNamespace(output=output)), differences(rows, row(a=LongType(), b=LongType())))
    hint = "select or cast the columns in the last step"
    assert refused.value.hint == (f"{hint}; with `mergeSchema: true` {merged}" if merged else hint)
