"""Inputs become views."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from catchment.engine.failures import from_spark
from catchment.errors import JobError
from catchment.formats import format_of
from catchment.plan.model import InputPlan


def open_input(spark: SparkSession, source: InputPlan) -> DataFrame:
    """Read an input and make it a view of the session."""
    try:
        frame = format_of(source.dataset.format).read(spark, source)
        frame.createOrReplaceTempView(source.name)
    except Exception as error:
        problem = from_spark(error, otherwise="input-failed")
        raise _at(source, problem) if isinstance(problem, JobError) else problem from error
    return frame


def _at(source: InputPlan, problem: JobError) -> JobError:
    address = source.dataset.address
    if problem.code == "table-or-view-not-found":
        return JobError(
            f"input {source.name}: there is no table {address}",
            code="table-not-found",
            where=source.where,
            hint="check the address; `catchment table ls` lists the tables of a depot",
            detail=problem.detail,
        )
    place = f" ({source.dataset.path})" if source.dataset.path else ""
    what = "nothing is at" if problem.code == "input-not-found" else f"{problem.message} at"
    return JobError(
        f"input {source.name}: {what} {address}{place}",
        code=problem.code,
        where=source.where,
        hint=problem.hint,
        detail=problem.detail,
    )
