"""Column changes. A field of a struct is named with a dot: `address.city`."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession

from catchment.errors import JobError
from catchment.formats.failures import from_spark
from catchment.formats.iceberg.changes.model import Arguments, Kind, Metadata
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.reserved_columns import check_names


def _add(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    schema, name = transaction.table().schema(), arguments["column"]
    check_names([name], transaction.table().name())
    kind, found = _type(spark, arguments["type"]), schema.findType(name)
    if found is not None:
        if str(found.toString()) != str(kind.toString()):
            raise JobError(
                f"the table has a column {name} already: {found.toString()}",
                code="column-twice",
                hint="choose another name, or widen the existing column",
            )
        return
    parent, _, own = name.rpartition(".")
    transaction.updateSchema().addColumn(parent or None, own, kind, arguments.get("comment")).commit()


def _drop(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    _require(transaction, arguments["column"])
    transaction.updateSchema().deleteColumn(arguments["column"]).commit()


def _rename(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    _require(transaction, arguments["column"])
    check_names([arguments["to"]], transaction.table().name())
    transaction.updateSchema().renameColumn(arguments["column"], arguments["to"]).commit()


def _widen(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    _require(transaction, arguments["column"])
    kind = _type(spark, arguments["type"])
    if not kind.isPrimitiveType():
        hint = "int can become bigint, float can become double, a decimal can get more digits"
        raise JobError(f"no column can be widened to {arguments['type']}", code="change-refused", hint=hint)
    transaction.updateSchema().updateColumn(arguments["column"], kind.asPrimitiveType()).commit()


def _require(transaction: Any, name: str) -> None:
    schema = transaction.table().schema()
    if schema.findField(name) is None:
        known = ", ".join(str(column.name()) for column in schema.columns())
        raise JobError(f"the table has no column {name}", code="column-not-found", hint=f"its columns are {known}")


def _type(spark: SparkSession, text: str) -> Any:
    """The Iceberg type for an SQL type."""
    jvm = Jvm.of(spark)
    try:
        kind = jvm("org.apache.spark.sql.types.DataType").fromDDL(text)
        # Converted as a column of a row, because a bare struct would be taken for a row.
        row = jvm("org.apache.spark.sql.types.StructType")().add("column", kind)
        return jvm.iceberg("spark.SparkSchemaUtil").convert(row).findType("column")
    except Exception as error:
        problem = from_spark(error)
        raise JobError(
            f"`{text}` is not a column type: {problem.message}",
            code="schema-invalid",
            hint="write it as in SQL: int, bigint, string, decimal(10,2), timestamp, array<int>, struct<a: int>",
            detail=problem.detail,
        ) from error


def _view(metadata: Metadata, arguments: Arguments) -> list[dict[str, str]]:
    schema = next(each for each in metadata["schemas"] if each["schema-id"] == metadata["current-schema-id"])
    return [{"name": field["name"], "type": _written(field["type"])} for field in schema["fields"]]


def _written(kind: Any) -> str:
    return kind if isinstance(kind, str) else json.dumps(kind)


ADD, DROP, RENAME, WIDEN = (Kind(stage, _view) for stage in (_add, _drop, _rename, _widen))
