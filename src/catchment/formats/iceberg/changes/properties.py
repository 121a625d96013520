"""Changes of table properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from catchment.errors import JobError
from catchment.formats.iceberg.changes.model import Arguments, Kind, Metadata
from catchment.formats.iceberg.changes.swap import LAST_CHANGE


def _set(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    wanted, there = arguments["properties"], metadata.get("properties", {})
    _check(wanted)
    update = transaction.updateProperties()
    for key, value in wanted.items():
        if there.get(key) != str(value):
            update.set(key, str(value))
    update.commit()


def _unset(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    there = metadata.get("properties", {})
    _check(arguments["names"])
    for key in arguments["names"]:
        if key not in there:
            raise JobError(
                f"the table has no property {key}",
                code="property-not-found",
                hint="`catchment table properties show` lists them",
            )
    update = transaction.updateProperties()
    for key in arguments["names"]:
        update.remove(key)
    update.commit()


def _check(keys: Iterable[str]) -> None:
    if LAST_CHANGE in keys:
        raise JobError(f"{LAST_CHANGE} is reserved for Catchment", code="change-refused", hint="leave it out")


def _view(metadata: Metadata, arguments: Arguments) -> Mapping[str, str | None]:
    there, keys = metadata.get("properties", {}), arguments.get("properties") or arguments["names"]
    return {key: there.get(key) for key in keys}


SET = Kind(_set, _view)
UNSET = Kind(_unset, _view)
