"""Bringing branches forward: the answer for `catchment table fast-forward`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from catchment.engine.failures import from_spark
from catchment.engine.protocol import FastForward
from catchment.formats.iceberg import catalogs
from catchment.formats.iceberg.branches import fast_forward


def forward_branch(spark: SparkSession, command: FastForward) -> Mapping[str, Any]:
    """Bring one branch of a table to the head of another, or look what that would mean."""
    address = command.table.address
    try:
        table = catalogs.require_table(spark, command.table)
        by = None if command.dry_run else command.by
        done = fast_forward(spark, table, command.branch, command.to, by)
    except Exception as error:
        problem = from_spark(error, otherwise="fast-forward-failed")
        problem.message = f"{address}: {problem.message}"
        raise problem from error
    return {
        "address": address,
        "branch": done.branch,
        "to": done.to,
        "before": done.before,
        "after": done.after,
        "commits": list(done.commits),
        "by": command.by,
        "dry_run": command.dry_run,
    }
