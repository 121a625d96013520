"""Actions: what a job does to a table beside writing rows into it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from catchment.commit.writer import Listener, Writer
from catchment.formats.model import Write, Written
from catchment.maintain.deletion import delete_rows
from catchment.maintain.upkeep import maintain
from catchment.plan.model import ActionPlan, Delete


def act(spark: SparkSession, action: ActionPlan, write: Write, writer: Writer, listener: Listener) -> Written:
    """Do what an action asks for, unless this very write has been committed before."""
    if isinstance(action.deed, Delete):
        return delete_rows(spark, action.deed.condition, write, writer, listener)
    return maintain(spark, action.deed, write, writer, listener)
