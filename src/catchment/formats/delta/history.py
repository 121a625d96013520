"""Reads the history of a Delta table: rows added between versions, the current version, and earlier attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import own_commit
from catchment.commit.writer import Writer
from catchment.formats import reading_by_commits
from catchment.formats.delta.conflicts import validates
from catchment.formats.delta.log import NO_TABLE, Log, log_of, require_head
from catchment.formats.model import EarlierWrite, Facts, Write, written
from catchment.formats.stamps import windows_in
from catchment.jvm.causes import is_a
from catchment.plan.model import Dataset, InputPlan, OutputPlan
from catchment.store.writes import Base

ADD, REMOVE = "AddFile", "RemoveFile"
NO_VERSION = "org.apache.spark.sql.delta.VersionNotFoundException"


def span(spark: SparkSession, source: InputPlan, known: str | None) -> tuple[str | None, str] | None:
    """The version that was read last, and the newest one."""
    head, log = require_head(spark, source.dataset), log_of(spark, source.dataset)
    first = _at(source, log, head.version, reading_by_commits.since(source)) if known is None else _version(known)
    # A table that was dropped and created again counts its versions from 0.
    if first is not None and (first > head.version or (known or "").partition("@")[2] not in ("", head.id)):
        raise reading_by_commits.gone(source, f"version {first}, which was read last,")
    if first is not None:
        _additions(source, log, first, head.version)
    return (None if first is None else f"{first}@{head.id}"), f"{head.version}@{head.id}"


def read(spark: SparkSession, source: InputPlan, first: str | None, last: str) -> DataFrame:
    """The rows that were added after one version, up to another."""
    head, log, newest = require_head(spark, source.dataset), log_of(spark, source.dataset), _version(last)
    # The window may be old: check that the versions it was opened for still exist.
    if newest > head.version or last.partition("@")[2] not in ("", head.id):
        raise reading_by_commits.gone(source, f"version {newest}, the end of an open window,")
    if first is None:
        return _whole(spark, source, log, newest)
    return log.rows_of(_additions(source, log, _version(first), newest), newest)


def commits_after(spark: SparkSession, source: InputPlan, offset: Mapping[str, Any]) -> int | None:
    """The number of versions after the one that a stream has reached; None if the offset is one of another table."""
    head = require_head(spark, source.dataset)
    if offset.get("reservoirId") != head.id:
        return None
    version = int(offset["reservoirVersion"])
    reached = version - 1 if offset["index"] < 0 else version  # below 0, nothing of the version was read yet
    return max(0, head.version - reached)


def _whole(spark: SparkSession, source: InputPlan, log: Log, version: int) -> DataFrame:
    try:
        return spark.read.format("delta").options(**source.options).load(log.path, versionAsOf=version)
    except Exception as error:
        if is_a(error, NO_VERSION):
            raise reading_by_commits.gone(source, f"version {version}") from error
        raise


def _version(known: str) -> int:
    """The number in a stored version, which is followed by the table's id unless a user set the state."""
    return int(known.partition("@")[0])


def _at(source: InputPlan, log: Log, newest: int, moment: datetime | None) -> int | None:
    """The version that was current at a moment; None if there was no table yet."""
    if moment is None:
        return None
    oldest = newest
    for commit in log.commits(newest):
        if commit.info.get("timestamp", 0) <= moment.timestamp() * 1000:
            return commit.version
        oldest = commit.version
    if oldest > 0:
        raise reading_by_commits.gone(source, f"the version that was current at {moment.isoformat()}")
    return None


def _additions(source: InputPlan, log: Log, first: int, newest: int) -> list[Any]:
    """The files that were added after one version, up to another; raises if other changes happened in between."""
    seen, added = first, []
    for version, action in log.actions(first + 1, newest):
        if version > seen + 1:
            raise reading_by_commits.gone(source, f"version {seen + 1}")
        seen = version
        if _changes_data(action, REMOVE):
            raise reading_by_commits.overwritten(source, version, "overwrite")
        if _changes_data(action, ADD):
            added.append(action)
    if seen < newest:
        raise reading_by_commits.gone(source, f"version {seen + 1}")
    return added


def _changes_data(action: Any, kind: str) -> bool:
    return str(action.getClass().getSimpleName()) == kind and bool(action.dataChange())


def windows_since(spark: SparkSession, dataset: Dataset, since: float) -> Iterator[Facts]:
    """The windows of incremental jobs in the versions since a time, the newest first."""
    log = log_of(spark, dataset)
    head = log.head()
    for commit in log.commits(head.version) if head else ():
        if commit.info.get("timestamp", 0) / 1000 < since:
            return
        yield from reversed(windows_in(commit.stamp))


FIXED_VERSION_OPTIONS = frozenset({"versionasof", "timestampasof", "endingversion", "endingtimestamp"})
"""Options of an input that select a fixed version."""


def head(spark: SparkSession, output: OutputPlan) -> Base | None:
    """The state of the table now; None if later commits are no conflict."""
    if not validates(output):
        return None
    now = log_of(spark, output.dataset).head()
    return now.base if now else NO_TABLE


def input_version(spark: SparkSession, source: InputPlan) -> str | None:
    """The version that an input reads now; None if the input selects one itself, or if there is no table."""
    if not FIXED_VERSION_OPTIONS.isdisjoint(source.options):
        return None
    now = log_of(spark, source.dataset).head()
    return f"version {now.version}" if now else None


def earlier(spark: SparkSession, write: Write, writer: Writer) -> EarlierWrite | None:
    """This write as an earlier attempt sealed or committed it; the log decides if the ledger does not know."""
    known = writer.ledger.find(write.id)
    if known is None or known.intent.target != write.output.dataset.address:
        return None
    if known.state in ("open", "abandoned"):
        done = log_of(spark, write.output.dataset).find(write.id)
        if done is None:
            return None
        own_commit.finish(writer.ledger, known.intent, done)
    settled = writer.earlier(write.id, write.output.dataset.address)
    return EarlierWrite(written(settled), settled.state == "committed", settled.intent.inputs) if settled else None
