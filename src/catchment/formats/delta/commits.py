"""What was added to a Delta table between two of its versions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.formats import commits
from catchment.formats.delta.log import Log, log_of, require_head
from catchment.plan.model import InputPlan

ADD, REMOVE = "AddFile", "RemoveFile"


def span(spark: SparkSession, source: InputPlan, known: str | None) -> tuple[str | None, str] | None:
    """From after the version that was read last to the newest one."""
    head, log = require_head(spark, source.dataset), log_of(spark, source.dataset)
    first = int(known) if known is not None else _at(source, log, head.version, commits.since(source))
    if first is not None and first > head.version:
        raise commits.gone(source, f"version {first}, which was read last,")
    if first is not None:
        _check(source, log, first, head.version)
    return (None if first is None else str(first)), str(head.version)


def read(spark: SparkSession, source: InputPlan, first: str | None, last: str) -> DataFrame:
    """The rows that were added after one version, up to another."""
    log = log_of(spark, source.dataset)
    if first is None:
        return spark.read.format("delta").options(**source.options).load(log.path, versionAsOf=last)
    added = (action for _, action in log.changes(int(first) + 1, int(last)) if _changes(action, ADD))
    return log.rows_of(added, int(last))


def _at(source: InputPlan, log: Log, newest: int, moment: datetime | None) -> int | None:
    """The version that was current at a moment; None where there was no table yet."""
    if moment is None:
        return None
    oldest = newest
    for commit in log.commits(newest):
        if commit.info.get("timestamp", 0) <= moment.timestamp() * 1000:
            return commit.version
        oldest = commit.version
    if oldest > 0:
        raise commits.gone(source, f"what was current at {moment.isoformat()}")
    return None


def _check(source: InputPlan, log: Log, first: int, newest: int) -> None:
    seen = first
    for version, action in log.changes(first + 1, newest):
        if version > seen + 1:
            raise commits.gone(source, f"version {seen + 1}")
        seen = version
        if _changes(action, REMOVE):
            raise commits.overwritten(source, version, "overwrite")
    if seen < newest:
        raise commits.gone(source, f"version {seen + 1}")


def _changes(action: Any, kind: str) -> bool:
    return str(action.getClass().getSimpleName()) == kind and bool(action.dataChange())
