"""Runs jobs up to their outputs and writes nothing: returns the columns, and for a sample the rows, that they compute.

Jobs run one after the other. A job that reads what an earlier one would write gets the earlier job's rows, because the
table may not exist yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.engine.protocol import TryJobs
from catchment.errors import CatchmentError, JobError
from catchment.formats.failures import from_spark
from catchment.formats.model import Source
from catchment.formats.registry import open_format
from catchment.formats.sql import published_catalogs
from catchment.job.bad_rows import BAD_ROWS, as_quarantined, explained
from catchment.job.inputs import next_window, open_input, reading
from catchment.job.job_session import prepare_session
from catchment.job.links import check_links
from catchment.job.rows import first_rows
from catchment.job.statements import Allowed
from catchment.job.steps import blame, run_step
from catchment.job.story import Story
from catchment.job.views import create_view, drop_views
from catchment.plan.model import InputPlan, JobPlan, OutputPlan
from catchment.project.model import Depot
from catchment.store import Store
from catchment.store.states import InputWindow

Facts = Mapping[str, Any]
Sessions = Callable[[], AbstractContextManager[SparkSession]]


@dataclass
class DryRun:
    """Tries the jobs of one engine."""

    command: TryJobs
    sessions: Sessions
    store: Store
    depots: Sequence[Depot]
    story: Story
    _made: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What jobs would write, by address: the job and the view of its rows."""

    def run(self) -> Facts:
        """Try every job; one that fails does not stop the others, except those that need it."""
        results: dict[str, Facts] = {}
        with self._cleaning():
            for job in self.command.jobs:
                reason = _why_not(job, results)
                results[job.name] = {"reason": reason} if reason else self._try(job)
        return {"jobs": [{**_NOTHING, "name": name, **found} for name, found in results.items()]}

    def _try(self, job: JobPlan) -> Facts:
        self.story.check()
        with self.sessions() as spark:
            views: dict[str, DataFrame] = {}
            shown: list[Facts] = []
            try:
                prepare_session(spark, job, self.command.request.reference_time, self.depots, self.story.log)
                shown += self._inputs(spark, job, views)
                shown += self._steps(spark, job, views)
                outputs = [self._output(spark, job, output, views) for output in job.outputs]
            except Exception as error:
                self.story.check()  # a cancelled job fails in many ways
                return {"views": shown, "error": _facts_of(self._problem(spark, job, error))}
            finally:
                drop_views(spark)
        return {"views": shown, "outputs": outputs}

    def _problem(self, spark: SparkSession, job: JobPlan, error: Exception) -> CatchmentError:
        problem = from_spark(error, otherwise="sql-failed")
        if problem.code == BAD_ROWS:
            problem = explained(spark, job, self.story, problem)
        return problem if problem.where else problem.at(blame(error, problem, job.steps, self.depots) or job.where)

    def _inputs(self, spark: SparkSession, job: JobPlan, views: dict[str, DataFrame]) -> Iterator[Facts]:
        parts = self._windows(spark, job)
        for source in job.inputs:
            upstream = self._made.get(source.dataset.address)
            with reading(source):
                if upstream is not None:
                    frame = spark.table(f"global_temp.{upstream[1]}")
                else:
                    frame = self._sampled(spark, self._opened(spark, source, parts.get(source.name), job, views))
                frame = create_view(frame, source.name)
            views[source.name] = frame
            yield self._view("input", source.name, frame, source.dataset.address, upstream and upstream[0])

    def _opened(
        self,
        spark: SparkSession,
        source: InputPlan,
        part: InputWindow | None,
        job: JobPlan,
        views: dict[str, DataFrame],
    ) -> DataFrame:
        """The rows of an input; for a stream, all that exist now."""
        check_links(source.dataset, self.depots, source.where)
        opened = open_input(spark, replace(source, stream=False), part)
        views.update(opened.views)
        if opened.bad is not None and source.quarantine:
            views[source.quarantine] = as_quarantined(opened.bad, source, job, "dry-run")
        return opened.views[source.name]

    def _windows(self, spark: SparkSession, job: JobPlan) -> Mapping[str, InputWindow]:
        """What incremental inputs would read: an unfinished window, or else the next one. Neither is recorded."""
        of_job = (self.command.workflow, job.name)
        for window in self.store.states.unfinished(*of_job, "run") if job.moves else ():
            return window.inputs
        known = self.store.states.of_job(*of_job) if job.moves else {}
        return {each.name: next_window(spark, each, known.get(each.name)) for each in job.inputs if each.moves}

    def _sampled(self, spark: SparkSession, frame: DataFrame) -> DataFrame:
        """The first rows of an input, held in the JVM: every step then sees the same ones."""
        if not self.command.sample:
            return frame
        rows = frame._jdf.takeAsList(self.command.sample)
        return DataFrame(spark._jsparkSession.createDataFrame(rows, frame._jdf.schema()), spark)

    def _steps(self, spark: SparkSession, job: JobPlan, views: dict[str, DataFrame]) -> Iterator[Facts]:
        allowed = Allowed(published=published_catalogs(self.depots), hint="it is not tried in a dry run")
        for step in job.steps:
            self.story.check()
            views[step.name] = frame = run_step(spark, step, self.depots, allowed)
            if frame.columns:  # a command such as CACHE TABLE has no result
                yield self._view("step", step.name, frame)

    def _output(self, spark: SparkSession, job: JobPlan, output: OutputPlan, views: Mapping[str, DataFrame]) -> Facts:
        frame, address = views[output.source], output.dataset.address
        rows = None
        if self.command.sample:
            frame.write.format("noop").mode("overwrite").save()  # computes every column of every row
            rows = frame.count()
        name = f"catchment_{len(self._made)}_{id(self)}"
        frame.createOrReplaceGlobalTempView(name)
        self._made[address] = (job.name, name)
        there = _table_columns(spark, output)
        return {
            "name": output.name,
            "dataset": address,
            "mode": output.mode,
            "columns": _columns(frame),
            "table_columns": there,
            "rows": rows,
        }

    def _view(
        self, kind: str, name: str, frame: DataFrame, dataset: str | None = None, from_job: str | None = None
    ) -> Facts:
        rows = first_rows(frame, self.command.rows) if self.command.sample else None
        known = {"kind": kind, "name": name, "dataset": dataset, "from_job": from_job}
        return {**known, "columns": _columns(frame), "rows": rows}

    @contextmanager
    def _cleaning(self) -> Iterator[None]:
        try:
            yield
        finally:
            with self.sessions() as spark:
                for _, name in self._made.values():
                    spark.catalog.dropGlobalTempView(name)


_NOTHING: Facts = {"reason": None, "error": None, "views": [], "outputs": []}


def _why_not(job: JobPlan, results: Mapping[str, Facts]) -> str | None:
    """Why a job is not tried; None if it is."""
    for needed in job.depends_on:
        if results.get(needed, {}).get("error"):
            return f"it needs {needed}, which failed"
    if job.side_effects:
        return "its steps have side effects"
    if job.change is not None:
        return f"it changes a table: {job.change.name} of {job.change.dataset.address}"
    if job.actions and not job.outputs:
        return f"it maintains a table: {', '.join(each.operation.kind for each in job.actions)}"
    return None


def _columns(frame: DataFrame) -> list[Facts]:
    return [{"name": field.name, "type": field.dataType.simpleString()} for field in frame.schema.fields]


def _table_columns(spark: SparkSession, output: OutputPlan) -> list[Facts] | None:
    """The columns of the table that an output would be written to; None if there is none, or if it is no table."""
    if not output.dataset.is_table:
        return None
    with suppress(JobError):
        try:
            there = InputPlan(output.name, output.dataset, output.where)
            return _columns(open_format(output.dataset.format, Source).read(spark, there))
        except Exception as error:
            raise from_spark(error) from error
    return None


def _facts_of(error: CatchmentError) -> Facts:
    known = {"code": error.code, "message": error.message, "hint": error.hint}
    place = asdict(error.where) if error.where else {"file": None, "line": None, "column": None}
    return {**known, **place}
