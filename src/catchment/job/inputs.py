"""Opens inputs as views of the session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from catchment.errors import JobError
from catchment.formats.failures import from_spark
from catchment.formats.model import FindsBadRows, Source, Streams
from catchment.formats.registry import open_format
from catchment.job.bad_rows import has_bad_rows
from catchment.job.views import create_view
from catchment.job.windows import plan_window, read_window
from catchment.plan.model import InputPlan
from catchment.store.states import InputWindow, State


@dataclass(frozen=True)
class Opened:
    """An input whose views exist."""

    views: Mapping[str, DataFrame]
    """By name."""
    bad: DataFrame | None = None
    """The bad rows, if they are dropped or quarantined."""


def open_input(spark: SparkSession, source: InputPlan, part: InputWindow | None) -> Opened:
    """Read an input, or one window of it, and create its views."""
    with reading(source):
        opened = _opened(spark, source, part)
        view = create_view(opened.views[source.name], source.name)
        return replace(opened, views={**opened.views, source.name: view})


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
        raise _at(source, problem) if isinstance(problem, JobError) else problem.at(source.where) from error


def _opened(spark: SparkSession, source: InputPlan, part: InputWindow | None) -> Opened:
    name = source.dataset.format
    if source.stream:
        return Opened({source.name: open_format(name, Streams).read_stream(spark, source)})
    rows = None
    if has_bad_rows(source) and source.bad_rows != "fail":
        rows = open_format(name, FindsBadRows).separate(spark, source)
    bad = rows.bad if rows else None
    if source.incremental is not None or source.commits is not None:
        return Opened(read_window(spark, source, part), bad)
    return Opened({source.name: rows.good if rows else open_format(name, Source).read(spark, source)}, bad)


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
