"""Changes of table metadata, for `catchment table …` and for toolbox jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.formats.failures import from_spark
from catchment.formats.model import ChangesTables, Requester
from catchment.formats.registry import open_format
from catchment.plan.model import ChangePlan


def make_change(
    spark: SparkSession,
    change: ChangePlan,
    requester: Requester,
    writer: Writer,
    listener: Listener,
    *,
    dry_run: bool = False,
) -> Mapping[str, Any]:
    """Make a change or preview it; a change that was made already is not repeated."""
    dataset = change.dataset
    try:
        facts = open_format(dataset.format, ChangesTables).change(
            spark, change, requester, writer, listener, dry_run=dry_run
        )
    except Exception as error:
        problem = from_spark(error, otherwise="change-failed")
        raise problem.changed(message=f"{dataset.address}: {problem.message}").at(change.where) from error
    return {"address": dataset.address, "change": change.name, **facts, "by": requester.by, "dry_run": dry_run}
