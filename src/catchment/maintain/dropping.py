"""Drops tables on request. A table with unfinished writes stays: rows that were promised would be lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import JobError
from catchment.formats.failures import from_spark
from catchment.formats.model import Inspects
from catchment.formats.registry import open_format
from catchment.formats.table_drops import Droppable, Drops
from catchment.plan.model import Dataset

_REPORTED = ("location", "rows", "files", "bytes", "snapshots")


def drop_table(
    spark: SparkSession,
    dataset: Dataset,
    published: str | None,
    writer: Writer,
    listener: Listener,
    *,
    expected: str | None,
    dry_run: bool,
) -> Mapping[str, Any]:
    """Drop a table and its files, or report what would be dropped.

    `published` is the published catalog, if any; `expected` is the identity that the table must have, if one was shown.
    """
    format = open_format(dataset.format, Drops)
    try:
        # Only a writer that creates the table again waits for this lease: a writer that begins now finds no table.
        lease = (writer.store, dataset.target, writer.owner, listener, spark_progress(spark))
        with table_lease(*lease, right="creation"):
            table = format.droppable(spark, dataset, published)
            _require_same(table, expected)
            there = open_format(dataset.format, Inspects).inspect(spark, "table", dataset, published)
            _require_unused(writer, dataset, table)
            if not dry_run:
                format.drop(spark, dataset, published, writer, listener)
                writer.forget(dataset.target)
    except Exception as error:
        problem = from_spark(error, otherwise="change-failed")
        where = "" if dataset.address in problem.message else f"{dataset.address}: "
        raise problem.changed(message=f"{where}{problem.message}") from error
    facts = {"table_id": table.id, **{key: there.get(key) for key in _REPORTED}, "published": table.is_published}
    return {"address": dataset.address, **facts, "dropped": not dry_run, "dry_run": dry_run}


def _require_same(table: Droppable, expected: str | None) -> None:
    """Raise if the table is another one than the one that was shown."""
    if expected not in (None, table.id):
        raise JobError(
            "this is another table now: the one that was shown has been dropped, and its name was used again",
            code="table-replaced",
            hint="look at the new table before you drop it; nothing was dropped",
        )


def _require_unused(writer: Writer, dataset: Dataset, table: Droppable) -> None:
    """Raise if a live engine writes the table, or if a sealed write waits to be published to it, under any name."""
    here = writer.store.activity.of_table(dataset.target, table.uuid)
    unfinished = (write for write in here if write.state == "sealed" or write.alive)
    busy = [
        write.write_id if write.target == dataset.target else f"{write.write_id} (to {write.target})"
        for write in unfinished
    ]
    if busy:
        more = f" and {len(busy) - 3} more" if len(busy) > 3 else ""
        raise JobError(
            f"the table has unfinished writes: {', '.join(busy[:3])}{more}",
            code="table-in-use",
            hint="wait until they are done; `catchment writers` shows them, `catchment recover` finishes lost ones",
        )
