"""Opens inputs as views of the session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from catchment.errors import JobError
from catchment.formats.failures import from_spark
from catchment.formats.model import Source
from catchment.formats.registry import open_format
from catchment.job.views import create_view
from catchment.job.windows import plan_window, read_window
from catchment.plan.model import InputPlan
from catchment.store.states import InputWindow, State


def open_input(spark: SparkSession, source: InputPlan, part: InputWindow | None) -> dict[str, DataFrame]:
    """Read an input, or one window of it, and create its views; returns all views by name."""
    with reading(source):
        frames = _frames(spark, source, part)
        create_view(frames[source.name], source.name)
        return frames


def next_window(spark: SparkSession, source: InputPlan, state: State | None) -> InputWindow:
    """The window that an incremental input reads next."""
    with reading(source):
        return plan_window(spark, source, state)


@contextmanager
def reading(source: InputPlan) -> Iterator[None]:
    """Report errors inside the context as errors of this input."""
    try:
        yield
    except Exception as error:
        problem = from_spark(error, otherwise="input-failed")
        raise _at(source, problem) if isinstance(problem, JobError) else problem from error


def _frames(spark: SparkSession, source: InputPlan, part: InputWindow | None) -> dict[str, DataFrame]:
    if source.incremental is not None or source.commits is not None:
        return read_window(spark, source, part)
    return {source.name: open_format(source.dataset.format, Source).read(spark, source)}


def _at(source: InputPlan, problem: JobError) -> JobError:
    if problem.where is not None:
        return problem
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
