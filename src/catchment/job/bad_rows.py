"""Bad rows of a job's inputs: which rows are quarantined, and why a job failed because of them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.errors import CatchmentError, JobError
from catchment.formats.model import FindsBadRows, FoundBadRows
from catchment.formats.registry import open_format, traits_of
from catchment.job.story import Story
from catchment.plan.model import InputPlan, JobPlan

BAD_ROWS: Final = "bad-rows"
"""The code of the error that a query gives if it meets a bad row that is not allowed."""
SHOWN = 3
"""How many bad rows an error describes."""


def has_bad_rows(source: InputPlan) -> bool:
    """Whether bad rows of an input are detected: its format can have them, and the input does not keep them."""
    return source.dataset.format in traits_of(source.dataset.format).bad_rows and source.bad_rows != "keep"


def as_quarantined(bad: DataFrame, source: InputPlan, job: JobPlan, run_id: str) -> DataFrame:
    """Bad rows as they are written to their dataset: where each one comes from, its reason and its text."""
    origin = {"run_id": run_id, "job": job.name, "input": source.name}
    return bad.select(*(F.lit(text).alias(name) for name, text in origin.items()), "file", "reason", "record")


def tell(story: Story, source: InputPlan, rows: int, quarantine: str | None) -> None:
    """Report that bad rows were dropped or quarantined."""
    if rows:
        what = f"were written to {quarantine}" if quarantine else "were dropped"
        story.log.warning("input %s: %d bad rows %s", source.name, rows, what)
        _note(story, source, rows, quarantine=quarantine)


def explained(spark: SparkSession, job: JobPlan, story: Story, problem: CatchmentError) -> CatchmentError:
    """The error for a job that met bad rows: how many there are, and where the first ones are."""
    for source in (each for each in job.inputs if has_bad_rows(each) and each.bad_rows == "fail"):
        with suppress(Exception):  # the error that stopped the job is the one to report
            found = open_format(source.dataset.format, FindsBadRows).find_bad_rows(spark, source, SHOWN)
            if found.rows:
                _note(story, source, found.rows, first=[asdict(row) for row in found.first])
                return _error(source, found, problem)
    for source in (each for each in job.inputs if each.dataset.format in traits_of(each.dataset.format).needs_schema):
        hint = "correct the schema of the input; or read the records as they are, and let SQL decide about each one"
        message = f"input {source.name} has records that do not fit its schema: {problem.message}"
        return JobError(message, code=BAD_ROWS, where=source.where, hint=hint, detail=problem.detail)
    return JobError(problem.message, code="sql-failed", where=problem.where, hint=problem.hint, detail=problem.detail)


def _note(story: Story, source: InputPlan, rows: int, **more: Any) -> None:
    story.note(BAD_ROWS, name=source.name, dataset=source.dataset.address, rows=rows, policy=source.bad_rows, **more)


def _error(source: InputPlan, found: FoundBadRows, problem: CatchmentError) -> JobError:
    rows = f"{found.rows:,} bad row{'' if found.rows == 1 else 's'}"
    files = f"{found.files:,} file{'' if found.files == 1 else 's'}"
    first = ", ".join(map(str, found.first))
    return JobError(
        f"input {source.name} has {rows} in {files} of {source.dataset.address}: {first}",
        code=BAD_ROWS,
        where=source.where,
        hint="correct the data, or give the input `badRows: drop` or `badRows: quarantine`",
        detail=problem.detail,
    )
