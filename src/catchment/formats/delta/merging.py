"""Merge: rows of a view meet rows of a Delta table, in one statement and one version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.listener import Listener
from catchment.formats.delta.conflicts import kind_of
from catchment.formats.failures import from_spark
from catchment.formats.model import Write
from catchment.formats.row_statements import merge_statement, show_rows
from catchment.formats.stamps import stamp
from catchment.plan.model import Merge

ROWS = "catchment_merged_rows"
"""The view that a merge takes its rows from."""
SETTINGS = "spark.databricks.delta."


def merge(spark: SparkSession, frame: DataFrame, write: Write, clauses: Merge) -> None:
    """Run the merge on the table as it is now; Delta commits it, unless it holds this very write."""
    statement = merge_statement(clauses, write.output.dataset.identifier, ROWS)
    show_rows(frame, ROWS)
    try:
        with _stamped(spark, write):
            spark.sql(statement.sql)
    except Exception as error:
        place = statement.place(error)
        if place is None or kind_of(error) is not None:
            raise
        problem = from_spark(error, otherwise="write-failed")
        raise problem.changed(message=f"output {write.output.name}: {problem.message}", where=place) from error
    finally:
        spark.catalog.dropTempView(ROWS)


def warn_of_options(write: Write, listener: Listener) -> None:
    """Delta's MERGE INTO takes no options of a writer."""
    if ignored := [*write.output.options, *(["compressionType"] if write.output.compression else [])]:
        listener.warn(f"output {write.output.name}: {', '.join(ignored)} has no effect on a merge")


@contextmanager
def _stamped(spark: SparkSession, write: Write) -> Iterator[None]:
    """A statement takes the write id from its session alone; the session is this job's, and has it for no longer."""
    settings = {
        f"{SETTINGS}write.txnAppId": write.id,
        f"{SETTINGS}write.txnVersion": "1",
        f"{SETTINGS}commitInfo.userMetadata": json.dumps(stamp(write)),
        f"{SETTINGS}schema.autoMerge.enabled": str(write.output.merge_schema).lower(),
    }
    before = {key: spark.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)
