"""Changes of tables beside writing rows into them: the answer for `catchment table …` and for jobs of the toolbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.writer import Listener, Writer
from catchment.engine.failures import from_spark
from catchment.formats.iceberg import catalogs
from catchment.maintain.branches import forward_branch
from catchment.maintain.model import Asker
from catchment.maintain.publishing import set_version
from catchment.plan.model import ChangePlan


def make_change(
    spark: SparkSession,
    change: ChangePlan,
    asker: Asker,
    writer: Writer,
    listener: Listener,
    *,
    dry_run: bool = False,
) -> Mapping[str, Any]:
    """Make a change, or look what it would come to; made already, it is not made twice."""
    try:
        table = catalogs.require_table(spark, change.dataset)
        facts = _made(spark, table, change, asker, writer, listener, dry_run=dry_run)
    except Exception as error:
        problem = from_spark(error, otherwise="change-failed")
        problem.message = f"{change.dataset.address}: {problem.message}"
        problem.where = problem.where or change.where
        raise problem from error
    return {"address": change.dataset.address, "change": change.name, **facts, "by": asker.by, "dry_run": dry_run}


def _made(
    spark: SparkSession,
    table: catalogs.Table,
    change: ChangePlan,
    asker: Asker,
    writer: Writer,
    listener: Listener,
    *,
    dry_run: bool,
) -> Mapping[str, Any]:
    match change.name:
        case "set_version":
            return set_version(spark, table, change, asker, writer, listener, dry_run=dry_run)
        case "branch_fast_forward":
            return forward_branch(spark, table, change.arguments, asker.by, dry_run=dry_run)
