"""Actions: what a job does to a table beside writing rows into it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from catchment.commit.writer import Listener, Writer
from catchment.formats.model import Write, Written
from catchment.maintain.deletion import delete_rows
from catchment.plan.model import ActionPlan


def act(spark: SparkSession, action: ActionPlan, write: Write, writer: Writer, listener: Listener) -> Written:
    """Do what an action asks for, unless this very write has been committed before."""
    match action.kind:
        case "delete_from_dataset":
            return delete_rows(spark, action.condition, write, writer, listener)
