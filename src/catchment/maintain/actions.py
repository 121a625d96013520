"""Runs maintenance actions and deletes, for jobs and by hand, and records them in the ledger.

The ledger has an entry for each action, so that a finished action is not repeated. Maintenance changes no row, so it
is safe to run it again after a crash.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit import faults, own_commit
from catchment.commit.abandonment import reason
from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import Cancelled, EngineLost, LeaseLost, Position
from catchment.formats.failures import from_spark
from catchment.formats.model import MaintainedTable, Maintains, MaintenanceResult, Write, Written, written
from catchment.formats.registry import open_format
from catchment.maintain.retention import Retention
from catchment.plan.model import (
    ActionPlan,
    Dataset,
    Delete,
    Expire,
    Expiry,
    Maintenance,
    OutputPlan,
    Partition,
    Rewrite,
)
from catchment.run_model import snapshot_name
from catchment.store.writes import Entry, Intent
from catchment.table_health import TableHealth

BY_HAND = "by hand"
"""The workflow of actions that a person requested."""


def act(spark: SparkSession, action: ActionPlan, write: Write, writer: Writer, listener: Listener) -> Written:
    """Run one action of a job, unless this write is committed already."""
    if isinstance(action.operation, Delete):
        format = open_format(write.output.dataset.format, Maintains)
        return format.delete_rows(spark, action.operation.condition, write, writer, listener)
    with _only_compactor(action.operation, write.output.dataset, writer, listener):
        done = _perform_once(spark, action.operation, write, writer, listener)
        if action.expiry is not None:
            _expire_after(spark, action.expiry, write, writer, listener)
    return written(done) if isinstance(done, Entry) else Written(0, done.files, done.snapshot_id)


def _expire_after(spark: SparkSession, expiry: Expiry, compaction: Write, writer: Writer, listener: Listener) -> None:
    """Expire the snapshots of a table whose writers leave that to its compactions.

    What fails is told and left to the next compaction: this one is done, and a retry of the job would not come here.
    """
    before = None if expiry.retention is None else int((time.time() - expiry.retention) * 1000)
    output = replace(compaction.output, name=f"expire_snapshots-{compaction.output.name}")
    try:
        if _table(spark, compaction.output.dataset, writer, listener).write_only:
            _perform_once(spark, Expire(before), replace(compaction, output=output), writer, listener)
    except (Cancelled, EngineLost, LeaseLost):
        raise
    except Exception as error:
        told = from_spark(error, otherwise="maintenance-failed")
        listener.warn(f"{compaction.output.dataset.address}: snapshots are not expired: {told.message}")


def _only_compactor(
    operation: Maintenance, dataset: Dataset, writer: Writer, listener: Listener
) -> AbstractContextManager[None]:
    """The right to compact a table, which one job or process has at a time; `catchment compact` takes it by itself."""
    if not isinstance(operation, Rewrite):
        return nullcontext()
    progress = spark_progress(writer.session)
    return table_lease(writer.store, dataset.target, writer.owner, listener, progress, "compact")


def maintain_by_hand(
    spark: SparkSession,
    dataset: Dataset,
    operation: Maintenance,
    writer: Writer,
    listener: Listener,
    *,
    by: str,
    dry_run: bool,
) -> Mapping[str, Any]:
    """Run or preview one maintenance action for a person; returns the report."""
    try:
        if dry_run:
            done = _table(spark, dataset, writer, listener).preview(operation)
        else:
            done = _perform(spark, dataset, operation, writer, listener, by=by)
    except Exception as error:
        raise from_spark(error, otherwise="maintenance-failed") from error
    return {"address": dataset.address, "action": operation.kind, "by": by, **done.facts, "dry_run": dry_run}


def health(
    spark: SparkSession,
    dataset: Dataset,
    writer: Writer,
    listener: Listener,
    small_file_bytes: int | None,
    *,
    known: str | None = None,
    wanted: Sequence[Partition] = (),
) -> TableHealth | None:
    """How well the files of a dataset serve its readers; None if its newest commit is the known one.

    Of very many partitions, those with the most to do are listed, and the wanted ones.
    """
    try:
        table = _table(spark, dataset, writer, listener)
        if known is not None and snapshot_name(table.head()) == known:
            return None
        return table.health(small_file_bytes).shortened(wanted)
    except Exception as error:
        raise from_spark(error, otherwise="inspection-failed") from error


def _perform(
    spark: SparkSession, dataset: Dataset, operation: Maintenance, writer: Writer, listener: Listener, *, by: str
) -> MaintenanceResult:
    output = OutputPlan("table", "", dataset, Position("", 1, 1), mode="maintain")
    write = Write(output, BY_HAND, operation.kind, f"{by}-{uuid.uuid4().hex[:8]}")
    done = _perform_once(spark, operation, write, writer, listener)
    assert isinstance(done, MaintenanceResult)  # noqa: S101 - the write's id is new
    return done


def _perform_once(
    spark: SparkSession, operation: Maintenance, write: Write, writer: Writer, listener: Listener
) -> MaintenanceResult | Entry:
    """Run one maintenance action and record it in the ledger; one that is recorded as done is not run again."""
    dataset, ledger = write.output.dataset, writer.ledger
    with writer.admission(dataset, write.id):
        table = _table(spark, dataset, writer, listener)
        own_commit.settle(ledger, dataset.target, table.find, listener.warn)
        intent = _intent(table, write, writer.owner)
        known = ledger.open(intent)
        if known.state == "committed":
            listener.warn(f"{write.id} was already done; nothing is done again")
            return known
        try:
            faults.point("before-own-commit")
            done = table.perform(operation)
            faults.point("own-commit-applied")
        except Exception as error:
            problem = from_spark(error, otherwise="maintenance-failed")
            ledger.abandon(known, reason(problem))
            raise problem from error
        done = replace(done, snapshot_id=table.head())
        committed = own_commit.Committed(done.snapshot_id, 0, done.bytes, done.files)
        own_commit.finish(ledger, intent, committed, listener.warn)
        return done


def _table(spark: SparkSession, dataset: Dataset, writer: Writer, listener: Listener) -> MaintainedTable:
    needs = Retention(writer.store, dataset.target)
    return open_format(dataset.format, Maintains).maintained(spark, dataset, writer, needs, listener)


def _intent(table: MaintainedTable, write: Write, owner: str) -> Intent:
    dataset, name = write.output.dataset, own_commit.attempt_name(write.id)
    return Intent(
        *(write.id, write.workflow, dataset.target, table.branch, "maintain", "last-wins", owner, name),
        base=table.base,
        dataset=asdict(dataset),
        buffered=False,
    )
