"""Changes of a table's partitioning, which apply to new files; existing files stay as they are."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from catchment.errors import JobError
from catchment.formats.iceberg.changes.model import Arguments, Kind, Metadata
from catchment.formats.iceberg.java import Jvm

ARGUMENTS = {"bucket": "numBuckets", "truncate": "width"}
"""The names of the numeric arguments of transforms."""


def _add(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    if not _is_there(metadata, arguments):
        _added(spark, transaction.updateSpec(), arguments).commit()


def _drop(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    _require(metadata, arguments["field"])
    transaction.updateSpec().removeField(arguments["field"]).commit()


def _replace(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    _require(metadata, arguments["field"])
    update = transaction.updateSpec().removeField(arguments["field"])
    _added(spark, update, arguments).commit()


def _added(spark: SparkSession, update: Any, arguments: Arguments) -> Any:
    term, name = _term(spark, arguments), arguments.get("asColumn")
    return update.addField(name, term) if name else update.addField(term)


def _term(spark: SparkSession, arguments: Arguments) -> Any:
    expressions, transform, column = Jvm.of(spark).iceberg("expressions.Expressions"), *_wanted(arguments)
    if transform == "identity":
        return expressions.ref(column)
    if transform in ARGUMENTS:
        return getattr(expressions, transform)(column, int(arguments[ARGUMENTS[transform]]))
    return getattr(expressions, transform)(column)


def _wanted(arguments: Arguments) -> tuple[str, str]:
    transform, column = arguments["type"], arguments["column"]
    needed = ARGUMENTS.get(transform)
    if needed and not str(arguments.get(needed, "")).isdigit():
        raise JobError(
            f"{transform} needs a number: `{needed}`", code="partition-invalid", hint=f"give `{needed}`, such as 16"
        )
    return transform, column


def _is_there(metadata: Metadata, arguments: Arguments) -> bool:
    transform, column = _wanted(arguments)
    written = f"{transform}[{int(arguments[ARGUMENTS[transform]])}]" if transform in ARGUMENTS else transform
    same = {"transform": written, "column": column}
    found = ({key: each[key] for key in same} for each in _fields(metadata) if _fits(each["name"], arguments))
    return same in found


def _fits(name: str, arguments: Arguments) -> bool:
    return arguments.get("asColumn") in (None, name)


def _require(metadata: Metadata, name: str) -> None:
    known = [each["name"] for each in _fields(metadata)]
    if name not in known:
        raise JobError(
            f"the table has no partition field {name}",
            code="partition-invalid",
            hint=f"its fields are {', '.join(known)}" if known else "it is not partitioned",
        )


def _fields(metadata: Metadata) -> list[dict[str, Any]]:
    schema = next(each for each in metadata["schemas"] if each["schema-id"] == metadata["current-schema-id"])
    spec = next(each for each in metadata["partition-specs"] if each["spec-id"] == metadata["default-spec-id"])
    names = {field["id"]: field["name"] for field in schema["fields"]}
    # Format v1 keeps a removed field as one that is always null.
    live = (field for field in spec["fields"] if field["transform"] != "void")
    return [{"name": f["name"], "transform": f["transform"], "column": names.get(f["source-id"])} for f in live]


def _view(metadata: Metadata, arguments: Arguments) -> list[dict[str, Any]]:
    return _fields(metadata)


ADD, DROP, REPLACE = (Kind(stage, _view) for stage in (_add, _drop, _replace))
