"""Maintenance that a person asks for: the answer for `catchment table compact` and its kind."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.writer import Listener, Writer
from catchment.engine.failures import from_spark
from catchment.engine.protocol import Maintain
from catchment.errors import Position
from catchment.formats.iceberg.catalogs import require_table
from catchment.formats.model import Write
from catchment.maintain.expiring import choose
from catchment.maintain.looking import look_at_files, look_at_manifests
from catchment.maintain.model import Upkeep, Ward
from catchment.maintain.upkeep import do, look_after
from catchment.plan.model import Dataset, Expire, OutputPlan, RemoveOrphans, Rewrite, RewriteManifests

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
        "action": command.deed.kind,
        "by": command.by,
        **done.facts,
        "dry_run": command.dry_run,
    }


def _looked(spark: SparkSession, command: Maintain, writer: Writer, listener: Listener) -> Upkeep:
    ward = Ward(spark, command.table, require_table(spark, command.table), writer, listener)
    match command.deed:
        case Rewrite():
            return look_at_files(ward, command.deed)
        case RewriteManifests():
            return look_at_manifests(ward)
        case Expire():
            return Upkeep(facts=choose(ward, command.deed).facts())
        case RemoveOrphans():
            return do(ward, replace(command.deed, dry_run=True))


def _done(spark: SparkSession, command: Maintain, writer: Writer, listener: Listener) -> Upkeep:
    done = look_after(spark, command.deed, _write(command), writer, listener)
    assert isinstance(done, Upkeep)  # noqa: S101 - the write's id is new
    return done


def _write(command: Maintain) -> Write:
    table: Dataset = command.table
    output = OutputPlan("table", "", table, Position("", 1, 1), mode="maintain")
    return Write(output, WORKFLOW, command.deed.kind, f"{command.by}-{uuid.uuid4().hex[:8]}")
