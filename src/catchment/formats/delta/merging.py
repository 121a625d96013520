"""Merges rows into a Delta table with one MERGE statement."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager

from pyspark.sql import DataFrame, SparkSession

from catchment.formats.delta.conflicts import kind_of
from catchment.formats.delta.session_settings import set_for_now
from catchment.formats.failures import from_spark
from catchment.formats.model import Write
from catchment.formats.row_statements import create_rows_view, merge_statement
from catchment.formats.stamps import stamp
from catchment.plan.model import Merge

ROWS = "catchment_merged_rows"
"""The view with the rows to merge."""
SETTINGS = "spark.databricks.delta."


def merge(spark: SparkSession, frame: DataFrame, write: Write, clauses: Merge) -> None:
    """Run the merge on the current version; Delta skips it if the table has this write already."""
    statement = merge_statement(clauses, write.output.dataset.identifier, ROWS)
    create_rows_view(frame, ROWS)
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


def _stamped(spark: SparkSession, write: Write) -> AbstractContextManager[None]:
    """Set the write id and the stamp for one statement; Delta reads them only from the session."""
    settings = {
        f"{SETTINGS}write.txnAppId": write.id,
        f"{SETTINGS}write.txnVersion": "1",
        f"{SETTINGS}commitInfo.userMetadata": json.dumps(stamp(write)),
        f"{SETTINGS}schema.autoMerge.enabled": str(write.output.merge_schema).lower(),
    }
    return set_for_now(spark, settings)
