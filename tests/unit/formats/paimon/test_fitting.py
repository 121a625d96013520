"""Fields of structs go by their position in Spark's casts, so their order must be the table's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql.types import ArrayType, DataType, IntegerType, MapType, StringType, StructField, StructType

from catchment.formats.paimon.fitting import _is_mixed


def struct(*names: str) -> StructType:
    return StructType([StructField(name, IntegerType()) for name in names])


@pytest.mark.parametrize(
    ("names", "mixed"), [(("a", "b"), False), (("A", "B"), False), (("b", "a"), True), (("a",), False)]
)
@pytest.mark.parametrize(
    "inside",
    [
        lambda kind: kind,
        ArrayType,
        lambda kind: MapType(StringType(), kind),
        lambda kind: StructType([StructField("x", kind)]),
    ],
    ids=["struct", "array", "map", "nested"],
)
def test_the_order_of_fields(names: tuple[str, ...], inside: Callable[[DataType], DataType], *, mixed: bool) -> None:
    assert _is_mixed(inside(struct(*names)), inside(struct("a", "b"))) == mixed
