"""Maintenance in the ledger: it is there while it runs, and what was done once is not done again.

It changes no row. If its engine dies in the middle, doing it again does no harm.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial

from pyspark.sql import SparkSession

from catchment.commit import own_commit
from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.engine.failures import from_spark
from catchment.errors import CatchmentError
from catchment.formats.iceberg import snapshots
from catchment.formats.iceberg.catalogs import Table, require_table
from catchment.formats.iceberg.maintenance.compaction import head, rewrite_files, rewrite_manifests
from catchment.formats.iceberg.maintenance.expiry import expire
from catchment.formats.iceberg.maintenance.orphans import remove_orphans
from catchment.formats.iceberg.maintenance.retention import require_kept
from catchment.formats.iceberg.table import MAIN, LakeTable
from catchment.formats.model import Write, Written, written
from catchment.maintain.model import MaintainedTable, MaintenanceResult
from catchment.plan.model import Expire, Maintenance, RemoveOrphans, Rewrite, RewriteManifests
from catchment.store.writes import Entry, Intent


def maintain(spark: SparkSession, operation: Maintenance, write: Write, writer: Writer, listener: Listener) -> Written:
    """Look after a table, unless this very write has been committed before."""
    done = look_after(spark, operation, write, writer, listener)
    return written(done) if isinstance(done, Entry) else Written(0, done.files, done.snapshot_id)


def look_after(
    spark: SparkSession, operation: Maintenance, write: Write, writer: Writer, listener: Listener
) -> MaintenanceResult | Entry:
    """Do a operation in the ledger; what the ledger knows as done is not done again."""
    dataset, ledger = write.output.dataset, writer.ledger
    with writer.admission(dataset.depot, dataset.address, write.id):
        table = require_table(spark, dataset)
        own_commit.settle(ledger, dataset.address, partial(_own_commit, spark, table))
        intent = _intent(spark, table, write, writer.owner)
        known = ledger.open(intent)
        if known.state == "committed":
            listener.warn(f"{write.id} was already done; nothing is done again")
            return known
        try:
            done = do(MaintainedTable(spark, dataset, table, writer, listener), operation)
        except Exception as error:
            problem = from_spark(error, otherwise="maintenance-failed")
            ledger.abandon(known, _told(problem))
            raise problem from error
        done = replace(done, snapshot_id=head(table))
        committed = own_commit.Committed(done.snapshot_id, 0, done.bytes, done.files)
        own_commit.finish(ledger, intent, committed)
        return done


def do(maintained: MaintainedTable, operation: Maintenance) -> MaintenanceResult:
    """Do one operation."""
    if not isinstance(operation, RemoveOrphans):
        require_kept(maintained)
    match operation:
        case Rewrite():
            return rewrite_files(maintained, operation)
        case RewriteManifests():
            return rewrite_manifests(maintained, operation)
        case Expire():
            return expire(maintained, operation)
        case RemoveOrphans():
            return remove_orphans(maintained, operation)


def _intent(spark: SparkSession, table: Table, write: Write, owner: str) -> Intent:
    dataset, name = write.output.dataset, own_commit.attempt_name(write.id)
    return Intent(
        *(write.id, write.workflow, dataset.address, MAIN, "maintain", "last-wins", owner, name),
        base=LakeTable(spark, table).base(MAIN),
        dataset=asdict(dataset),
        buffered=False,
    )


def _own_commit(spark: SparkSession, table: Table, write_id: str) -> own_commit.Committed | None:
    found = snapshots.find_write(spark, table, write_id)
    return found.committed() if found else None


def _told(problem: CatchmentError) -> dict[str, str | None]:
    return {"code": problem.code, "message": problem.message, "hint": problem.hint}
