"""Runs steps: SQL over earlier views, whose result becomes another view."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession

from catchment.errors import CatchmentError, JobError, Position
from catchment.formats.failures import CHECK_FAILED, from_spark
from catchment.formats.sql import rewrite_for_spark
from catchment.formats.sql_names import Edited
from catchment.job.statements import Allowed, run_statement
from catchment.job.views import create_view
from catchment.jvm.causes import causes
from catchment.plan.model import StepPlan
from catchment.project.model import Depot
from catchment.spec.sql_tokens import code_of

_CHECK = re.compile(r"\b(raise_error|assert_true)\s*\(", re.IGNORECASE)


def run_step(spark: SparkSession, step: StepPlan, depots: Sequence[Depot], allowed: Allowed) -> DataFrame:
    """Run a step's SQL over views and tables of these depots, and create a view of its result."""
    handed = rewrite_for_spark(step.sql, depots)
    try:
        frame = run_statement(spark, handed.sql, allowed)
        if frame.columns:  # a command such as CACHE TABLE has no result
            frame = create_view(frame, step.name)
    except Exception as error:
        problem = from_spark(error)
        raise _at_step(step, handed, problem, error) if isinstance(problem, JobError) else problem from error
    return frame


def blame(
    error: BaseException, problem: CatchmentError, steps: Sequence[StepPlan], depots: Sequence[Depot]
) -> Position | None:
    """The position of the SQL that failed during a write, if exactly one step contains it."""
    found = {place for step in steps for place in _blamed(error, step, rewrite_for_spark(step.sql, depots))}
    if not found and problem.code == CHECK_FAILED:
        found = {place for step in steps for place in _checks(step)}
    return problem.where or (found.pop() if len(found) == 1 else None)


def _blamed(error: BaseException, step: StepPlan, handed: Edited) -> Iterator[Position]:
    for cause in causes(error):
        for start, fragment in cause.fragments:
            if fragment and handed.sql.startswith(fragment, start):
                yield step.at_offset(handed.origin(start))


def _checks(step: StepPlan) -> Iterator[Position]:
    """The places where a step raises errors itself: Spark does not say which of them has failed."""
    for found in _CHECK.finditer(code_of(step.sql) or ""):
        yield step.at_offset(found.start())


def _at_step(step: StepPlan, handed: Edited, problem: JobError, error: Exception) -> JobError:
    place = next((cause.place for cause in causes(error) if cause.place), None)
    if place:
        where = step.at_offset(handed.origin(_offset(handed.sql, *place)))
    else:
        where = problem.where or next(_blamed(error, step, handed), step.sql_where)
    return problem.changed(message=f"step {step.name}: {problem.message}", where=where)


def _offset(sql: str, line: int, column: int) -> int:
    return sum(len(text) + 1 for text in sql.split("\n")[: line - 1]) + column
