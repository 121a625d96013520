"""Steps: SQL over the views before them, each a view again."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from catchment.engine.failures import from_spark
from catchment.engine.jvm import causes
from catchment.errors import CatchmentError, JobError, Position
from catchment.plan.model import StepPlan


def run_step(spark: SparkSession, step: StepPlan) -> DataFrame:
    """Run a step's SQL and make its result a view of the session."""
    try:
        frame = spark.sql(step.sql)
        if frame.columns:  # a command such as CACHE TABLE has no result to look at
            frame.createOrReplaceTempView(step.name)
    except Exception as error:
        problem = from_spark(error)
        raise _at_step(step, problem, error) if isinstance(problem, JobError) else problem from error
    return frame


def blame(error: BaseException, problem: CatchmentError, steps: Sequence[StepPlan]) -> Position | None:
    """Where the SQL stands that failed while data was moving, if exactly one step holds it."""
    found = {
        _at_offset(step, start)
        for cause in causes(error)
        for start, fragment in cause.fragments
        for step in steps
        if fragment and step.sql[start : start + len(fragment)] == fragment
    }
    return problem.where or (found.pop() if len(found) == 1 else None)


def _at_step(step: StepPlan, problem: JobError, error: Exception) -> JobError:
    place = next((cause.place for cause in causes(error) if cause.place), None)
    where = step.position(*place) if place else blame(error, problem, [step]) or step.sql_where
    return JobError(
        f"step {step.name}: {problem.message}",
        code=problem.code,
        where=where,
        hint=problem.hint,
        detail=problem.detail,
    )


def _at_offset(step: StepPlan, offset: int) -> Position:
    before = step.sql[:offset]
    return step.position(before.count("\n") + 1, offset - (before.rfind("\n") + 1))
