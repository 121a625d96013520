"""Actions: what a job does to a table beside writing rows into it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.engine.failures import from_spark
from catchment.engine.protocol import Maintain
from catchment.errors import Position
from catchment.formats.iceberg.catalogs import require_table
from catchment.formats.iceberg.maintenance.compaction import look_at_files, look_at_manifests
from catchment.formats.iceberg.maintenance.expiry import choose
from catchment.formats.iceberg.row_changes import delete_rows
from catchment.formats.model import Write, Written
from catchment.maintain.model import MaintainedTable, MaintenanceResult
from catchment.maintain.upkeep import do, look_after, maintain
from catchment.plan.model import (
    ActionPlan,
    Dataset,
    Delete,
    Expire,
    OutputPlan,
    RemoveOrphans,
    Rewrite,
    RewriteManifests,
)


def act(spark: SparkSession, action: ActionPlan, write: Write, writer: Writer, listener: Listener) -> Written:
    """Do what an action asks for, unless this very write has been committed before."""
    if isinstance(action.operation, Delete):
        return delete_rows(spark, action.operation.condition, write, writer, listener)
    return maintain(spark, action.operation, write, writer, listener)


WORKFLOW = "by hand"


def maintain_by_hand(spark: SparkSession, command: Maintain, writer: Writer, listener: Listener) -> Mapping[str, Any]:
    """Look after a table, or look what that would mean."""
    try:
        ask = _looked if command.dry_run else _done
        done = ask(spark, command, writer, listener)
    except Exception as error:
        raise from_spark(error, otherwise="maintenance-failed") from error
    return {
        "address": command.table.address,
        "action": command.operation.kind,
        "by": command.by,
        **done.facts,
        "dry_run": command.dry_run,
    }


def _looked(spark: SparkSession, command: Maintain, writer: Writer, listener: Listener) -> MaintenanceResult:
    maintained = MaintainedTable(spark, command.table, require_table(spark, command.table), writer, listener)
    match command.operation:
        case Rewrite():
            return look_at_files(maintained, command.operation)
        case RewriteManifests():
            return look_at_manifests(maintained)
        case Expire():
            return MaintenanceResult(facts=choose(maintained, command.operation).facts())
        case RemoveOrphans():
            return do(maintained, replace(command.operation, dry_run=True))


def _done(spark: SparkSession, command: Maintain, writer: Writer, listener: Listener) -> MaintenanceResult:
    done = look_after(spark, command.operation, _write(command), writer, listener)
    assert isinstance(done, MaintenanceResult)  # noqa: S101 - the write's id is new
    return done


def _write(command: Maintain) -> Write:
    table: Dataset = command.table
    output = OutputPlan("table", "", table, Position("", 1, 1), mode="maintain")
    return Write(output, WORKFLOW, command.operation.kind, f"{command.by}-{uuid.uuid4().hex[:8]}")
