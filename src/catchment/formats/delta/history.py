"""The history of a Delta table: what was added between versions, what a job begins from, what attempts have left."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import own_commit
from catchment.commit.writer import Writer
from catchment.formats import reading_by_commits
from catchment.formats.delta.conflicts import validates
from catchment.formats.delta.log import Log, log_of, require_head
from catchment.formats.model import Earlier, Write, written
from catchment.jvm.causes import is_a
from catchment.plan.model import InputPlan, OutputPlan
from catchment.store.writes import Base

ADD, REMOVE = "AddFile", "RemoveFile"
NO_VERSION = "org.apache.spark.sql.delta.VersionNotFoundException"


def span(spark: SparkSession, source: InputPlan, known: str | None) -> tuple[str | None, str] | None:
    """From after the version that was read last to the newest one."""
    head, log = require_head(spark, source.dataset), log_of(spark, source.dataset)
    first = _at(source, log, head.version, reading_by_commits.since(source)) if known is None else _version(known)
    # A table that was dropped and made anew counts its versions from 0 again.
    if first is not None and (first > head.version or (known or "").partition("@")[2] not in ("", head.id)):
        raise reading_by_commits.gone(source, f"version {first}, which was read last,")
    if first is not None:
        _additions(source, log, first, head.version)
    return (None if first is None else f"{first}@{head.id}"), f"{head.version}@{head.id}"


def read(spark: SparkSession, source: InputPlan, first: str | None, last: str) -> DataFrame:
    """The rows that were added after one version, up to another."""
    head, log, newest = require_head(spark, source.dataset), log_of(spark, source.dataset), _version(last)
    # The window may have been begun long ago: what it was begun over must still be there.
    if newest > head.version or last.partition("@")[2] not in ("", head.id):
        raise reading_by_commits.gone(source, f"version {newest}, up to which a window was begun,")
    if first is None:
        return _whole(spark, source, log, newest)
    return log.rows_of(_additions(source, log, _version(first), newest), newest)


def _whole(spark: SparkSession, source: InputPlan, log: Log, version: int) -> DataFrame:
    try:
        return spark.read.format("delta").options(**source.options).load(log.path, versionAsOf=version)
    except Exception as error:
        if is_a(error, NO_VERSION):
            raise reading_by_commits.gone(source, f"version {version}, as which the table was to be read,") from error
        raise


def _version(known: str) -> int:
    """A version as the state has it: with the table's id, or without it where a person has set it."""
    return int(known.partition("@")[0])


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
        raise reading_by_commits.gone(source, f"what was current at {moment.isoformat()}")
    return None


def _additions(source: InputPlan, log: Log, first: int, newest: int) -> list[Any]:
    """The files that were added after a version, up to another; raises where anything else happened in between."""
    seen, added = first, []
    for version, action in log.changes(first + 1, newest):
        if version > seen + 1:
            raise reading_by_commits.gone(source, f"version {seen + 1}")
        seen = version
        if _changes(action, REMOVE):
            raise reading_by_commits.overwritten(source, version, "overwrite")
        if _changes(action, ADD):
            added.append(action)
    if seen < newest:
        raise reading_by_commits.gone(source, f"version {seen + 1}")
    return added


def _changes(action: Any, kind: str) -> bool:
    return str(action.getClass().getSimpleName()) == kind and bool(action.dataChange())


AT_REST = frozenset({"versionasof", "timestampasof"})
"""Options of an input that always mean the same rows."""


def head(spark: SparkSession, output: OutputPlan) -> Base | None:
    """The state of the table now; None where there is no table yet, or where later commits do not matter."""
    now = log_of(spark, output.dataset).head() if validates(output) else None
    return now.base if now else None


def reading_state(spark: SparkSession, source: InputPlan) -> str | None:
    """The version that an input reads now; None where it names one itself, or where there is no table."""
    if not AT_REST.isdisjoint(key.lower() for key in source.options):
        return None
    now = log_of(spark, source.dataset).head()
    return f"version {now.version}" if now else None


def earlier(spark: SparkSession, write: Write, writer: Writer) -> Earlier | None:
    """From the ledger; where an attempt began there and did not come back, from the table's log."""
    known = writer.ledger.find(write.id)
    if known is None or known.intent.target != write.output.dataset.address:
        return None
    if known.state != "committed":
        done = log_of(spark, write.output.dataset).find(write.id)
        if done is None:
            return None
        own_commit.finish(writer.ledger, known.intent, done)
    settled = writer.earlier(write.id, write.output.dataset.address)
    return Earlier(written(settled), committed=True, inputs=settled.intent.inputs) if settled else None
