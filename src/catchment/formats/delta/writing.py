"""Writes rows to a Delta table: creates it if needed, checks the rows, commits and records the result."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.commit import faults, own_commit
from catchment.commit.abandonment import reason
from catchment.commit.committed import Committed
from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import CommitConflict
from catchment.formats.backoff import MAX_ATTEMPTS, attempts
from catchment.formats.delta import conflicts
from catchment.formats.delta.buffered import append, publish_sealed, publisher_of
from catchment.formats.delta.catalog import is_known
from catchment.formats.delta.log import BRANCH, NO_TABLE, Head, Log, log_of, require_head
from catchment.formats.delta.merging import merge
from catchment.formats.delta.sealed_files import numbers_rows
from catchment.formats.delta.tables import check_partitions, create, fit, give_name
from catchment.formats.delta.transaction import Transaction, needs_table_lease
from catchment.formats.failures import from_spark
from catchment.formats.frames import sorted_rows
from catchment.formats.model import Write, Written, written
from catchment.formats.stamps import stamp
from catchment.jvm.causes import JVM_ERRORS
from catchment.plan.model import Merge
from catchment.store.writes import Entry, Intent

NOTHING = Committed(None, 0, 0, 0)


def commit(spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
    """Commit the rows, unless this write is committed already."""
    log = log_of(spark, write.output.dataset)
    _settle_lost(log, write, writer, listener)
    done = _append(log, frame, write, writer, listener) if _is_plain_append(write) else None
    return written(done) if done else _commit_alone(log, frame, write, writer, listener)


def _is_plain_append(write: Write) -> bool:
    """Whether the write adds files and changes nothing else."""
    return write.output.mode == "append" and not write.output.merge_schema


def _append(log: Log, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Entry | None:
    """Append the rows in a version that other appends share; None if the table needs Delta's own commit."""
    for number in attempts():
        head = _table(log, frame, write, writer, listener)
        if numbers_rows(head):
            return None
        check_partitions(frame, write, head)
        _warn_of_properties(head, write, listener)
        try:
            return append(log, head, _ordered(frame, write, head), write, _options(write), writer, listener)
        except CommitConflict:
            # Others changed the table after the data was written: the rows are fitted to it as it is now.
            if number == MAX_ATTEMPTS:
                raise
            listener.check()
            listener.warn(f"{write.id}: others changed {write.output.dataset.address} meanwhile; trying again")
    raise AssertionError("the last attempt returns or raises")


def _commit_alone(log: Log, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
    """Let Delta commit the rows in a version of their own."""
    publish_sealed(writer, write.output.dataset, log)  # in the order of the ledger: they were promised earlier
    intent = _intent(log, write, writer.owner)
    known = writer.ledger.open(intent)
    if known.state == "committed":
        listener.warn(f"{write.id} was already committed; nothing is written again")
        return written(known)
    if known.state == "sealed":  # by an attempt for which the output was a plain append
        return written(publisher_of(writer, write.output.dataset, log).publish(write.id))
    done = log.find(write.id) or _commit(log, frame, write, writer, known, listener)
    if done.files == 0 and write.output.mode == "overwrite-partitions":
        listener.warn(f"output {write.output.name} has no rows: no partition is replaced")
    faults.point("before-marked")
    own_commit.finish(writer.ledger, intent, done, listener.warn)
    faults.point("marked")
    return Written(done.rows, done.files, done.snapshot_id)


def _settle_lost(log: Log, write: Write, writer: Writer, listener: Listener) -> None:
    """Settle the unfinished writes that dead engines have left in this table."""
    settled = own_commit.settle(writer.ledger, write.output.dataset.address, log.find_commit, listener.warn)
    others = [write_id for write_id in settled.abandoned if write_id != write.id]
    if others:
        listener.warn(f"{write.output.dataset.address}: engines that died left {', '.join(others)} unfinished")


def _intent(log: Log, write: Write, owner: str) -> Intent:
    output, head = write.output, log.head()
    base = write.since or (head.base if head else NO_TABLE)
    name = own_commit.attempt_name(write.id)
    return Intent(
        *(write.id, write.workflow, output.dataset.address, BRANCH, output.mode, output.conflict, owner, name, base),
        dataset=asdict(output.dataset),
        inputs=write.inputs,
        window=write.window,
        buffered=False,
        place=log.path,
    )


def _commit(log: Log, frame: DataFrame, write: Write, writer: Writer, known: Entry, listener: Listener) -> Committed:
    """Write and commit; try again after a conflict that allows it."""
    for number in attempts():
        try:
            return _attempt(log, frame, write, writer, listener)
        except Exception as error:
            # The error may be wrong about the commit (its answer may have been lost): only the log decides.
            if (done := log.find(write.id)) is not None:
                return done
            if not conflicts.worth_another(error, log, write, number):
                overtaken = conflicts.refusal(error, log, write)
                # The log does not have the write, and nobody is working on it any more.
                writer.ledger.abandon(known, reason(overtaken or from_spark(error, otherwise="write-failed")))
                if overtaken:
                    raise overtaken from error
                raise  # unchanged: the caller finds the SQL that is to blame
            listener.check()
            listener.warn(f"{write.id}: others changed {write.output.dataset.address} meanwhile; trying again")
    raise AssertionError("the last attempt returns or raises")


def _attempt(log: Log, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Committed:
    head = _table(log, frame, write, writer, listener)
    check_partitions(frame, write, head)
    _warn_of_properties(head, write, listener)
    if write.output.merge is not None:
        return _merge(log, frame, write, write.output.merge, writer, listener)
    return _put(log, frame, write, head, writer, listener)


def _merge(log: Log, frame: DataFrame, write: Write, clauses: Merge, writer: Writer, listener: Listener) -> Committed:
    """Merge under the table's lease: one statement reads, writes and commits, and appends would overtake it again."""
    with _lease(log, writer, listener):
        listener.check()
        faults.point("before-own-commit")
        merge(log.spark, frame, write, clauses)
        faults.point("own-commit-applied")
        return log.find_own(write.id)


def _put(log: Log, frame: DataFrame, write: Write, head: Head, writer: Writer, listener: Listener) -> Committed:
    """Write the data without the table's lease, which is held only for the commit."""
    ordered = _ordered(frame, write, head)
    if write.output.mode == "overwrite-partitions" and not head.partitions and ordered.isEmpty():
        return NOTHING  # Delta would empty a table without partitions
    mode = "Append" if write.output.mode == "append" else "Overwrite"
    options = {**_options(write), "txnAppId": write.id, "txnVersion": "1", "userMetadata": json.dumps(stamp(write))}
    transaction = Transaction.begin(log, conflicts.base_of(log, write, head), ordered, mode, options)
    if transaction.is_done():
        return log.find(write.id) or NOTHING
    faults.point("before-data-written")
    filled = transaction.fill()
    faults.point("data-written")
    with _commit_lease(log, writer, listener):
        # The last chance to stop: the user who cancelled the job may have started another run already.
        listener.check()
        faults.point("before-own-commit")
        transaction.commit(filled)
        faults.point("own-commit-applied")
        return log.find_own(write.id)


def _ordered(frame: DataFrame, write: Write, head: Head) -> DataFrame:
    """The rows, fitted to the table and sorted by its partitions."""
    return sorted_rows(fit(frame, write, head), write, [F.col(f"`{name}`") for name in head.partitions])


def _table(log: Log, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Head:
    """The current state of the table, which is created if it is missing."""
    head, dataset = log.head(), write.output.dataset
    if head is not None and is_known(log.spark, dataset):
        return head
    # Of two engines that create it, the store would refuse one, whose job would fail.
    with _lease(log, writer, listener):
        _make(log, frame, write) if log.head() is None else give_name(log.spark, dataset)
    return require_head(log.spark, dataset)


def _make(log: Log, frame: DataFrame, write: Write) -> None:
    """Create the table, unless another engine does so at the same moment."""
    try:
        create(log.spark, frame, write)
    except JVM_ERRORS:
        # Delta then creates nothing and looks for the table, which it may not find yet.
        if log.head() is None:
            raise
        if not is_known(log.spark, write.output.dataset):
            give_name(log.spark, write.output.dataset)


def _commit_lease(log: Log, writer: Writer, listener: Listener) -> AbstractContextManager[None]:
    """Hold the table's lease if the store could lose commits."""
    return _lease(log, writer, listener) if needs_table_lease(log.spark, log.path) else nullcontext()


def _lease(log: Log, writer: Writer, listener: Listener) -> AbstractContextManager[None]:
    # Named after the path, so that a table has one lease under all of its names.
    return table_lease(writer.store, log.path, writer.owner, listener, spark_progress(log.spark))


def _options(write: Write) -> dict[str, str]:
    """Options of this write. They are not set on the session, where they would affect all writes of the engine."""
    output = write.output
    options = {**output.options, "mergeSchema": str(output.merge_schema).lower()}
    if output.compression:
        options["compression"] = output.compression
    if output.mode != "append":
        options["partitionOverwriteMode"] = "dynamic" if output.mode == "overwrite-partitions" else "static"
    return options


def _warn_of_properties(head: Head, write: Write, listener: Listener) -> None:
    for key, value in write.output.properties.items():
        if (actual := head.properties.get(key)) != value:
            address = write.output.dataset.address
            listener.warn(f"{address} exists and keeps {key}={actual}; the workflow has {value}")
