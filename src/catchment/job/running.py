"""One attempt of one job: inputs to views, steps to views, outputs to the lake."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.model import Base
from catchment.commit.writer import Writer
from catchment.engine.failures import from_spark
from catchment.engine.protocol import OutputReport, RunJob
from catchment.errors import CommitConflict, JobError
from catchment.formats import Write, format_of
from catchment.job.inputs import open_input
from catchment.job.places import refusal
from catchment.job.steps import blame, run_step
from catchment.job.story import Story
from catchment.plan.model import JobPlan, OutputPlan

MOST_RERUNS = 3
"""How often a job begins again because others changed the partitions that it replaces."""
SESSION_VARIABLES_SINCE = 4


@dataclass(frozen=True)
class _Attempt:
    """What the parts of one attempt have in common."""

    spark: SparkSession
    command: RunJob
    story: Story
    writer: Writer

    @property
    def job(self) -> JobPlan:
        return self.command.job


def run_job(spark: SparkSession, command: RunJob, story: Story, writer: Writer) -> tuple[OutputReport, ...]:
    """Run one attempt in a session of its own; what it leaves in shared caches goes with its views."""
    attempt = _Attempt(spark, command, story, writer)
    _prepare(attempt)
    for _ in range(MOST_RERUNS):
        try:
            return _pass(attempt)
        except CommitConflict as conflict:
            if conflict.code != "partitions-changed" or not _reruns(attempt.job):
                raise
            story.warn(f"{conflict.message}; the job runs again on the new state")
    return _pass(attempt)


def _reruns(job: JobPlan) -> bool:
    return any(output.conflict == "rerun" for output in job.outputs)


def _pass(attempt: _Attempt) -> tuple[OutputReport, ...]:
    """Inputs to steps to outputs, once. An output that was committed in an earlier pass is not written again."""
    views: dict[str, DataFrame] = {}
    # Before anything is read: what others commit from here on, the job has not seen.
    since = {output.name: _begun(attempt, output) for output in attempt.job.outputs}
    try:
        _read(attempt, views)
        _transform(attempt, views)
        return tuple(_write(attempt, out, views[out.source], since[out.name]) for out in attempt.job.outputs)
    finally:
        for name in views:
            attempt.spark.catalog.dropTempView(name)


def _begun(attempt: _Attempt, output: OutputPlan) -> Base | None:
    try:
        return format_of(output.dataset.format).begin(attempt.spark, output)
    except Exception as error:
        raise _blamed(attempt, error, f"output {output.name}", output) from error


def _prepare(attempt: _Attempt) -> None:
    command, story = attempt.command, attempt.story
    story.log.info(
        "job %s of workflow %s, run %s, attempt %d, reference time %s",
        *(attempt.job.name, command.workflow, command.run_id, command.number, command.reference_time),
    )
    for key, value in attempt.job.conf.items():
        story.log.info("setting %s = %s", key, value)
        _set(attempt, key, value)
    if int(attempt.spark.version.partition(".")[0]) >= SESSION_VARIABLES_SINCE:
        # The run's own clock: the same on every attempt, so that a retry around midnight writes the same rows.
        attempt.spark.sql(f"DECLARE VARIABLE run_time TIMESTAMP DEFAULT TIMESTAMP '{command.reference_time}'")


def _set(attempt: _Attempt, key: str, value: str) -> None:
    try:
        attempt.spark.conf.set(key, value)
    except Exception as error:
        problem = from_spark(error)
        raise JobError(
            f"job {attempt.job.name}: Spark refuses the setting {key}={value}: {problem.message}",
            code="setting-refused",
            where=attempt.job.where,
            hint="settings of the whole application belong into `conf` of the engine",
            detail=problem.detail,
        ) from error


def _read(attempt: _Attempt, views: dict[str, DataFrame]) -> None:
    for source in attempt.job.inputs:
        dataset = source.dataset
        text = f"input {source.name}: {dataset.format} {dataset.address} {dataset.path or ''}"
        attempt.story.tell("input", text.rstrip(), name=source.name, dataset=dataset.address)
        views[source.name] = open_input(attempt.spark, source)


def _transform(attempt: _Attempt, views: dict[str, DataFrame]) -> None:
    for step in attempt.job.steps:
        attempt.story.tell("step", f"step {step.name}:\n{step.sql}", name=step.name)
        views[step.name] = frame = run_step(attempt.spark, step)
        if attempt.job.explain:
            _explain(attempt, step.name, frame)
        if attempt.job.preview_rows and frame.columns:
            _preview(attempt, step.name, frame)


def _explain(attempt: _Attempt, name: str, frame: DataFrame) -> None:
    attempt.story.tell("explain", f"plan of {name}:\n{frame._jdf.queryExecution().toString()}", name=name)


def _preview(attempt: _Attempt, name: str, frame: DataFrame) -> None:
    count = attempt.job.preview_rows
    attempt.story.tell("preview", f"first {count} rows of {name}:", name=name, rows=count)
    try:
        attempt.story.log.info("%s", frame._jdf.showString(count, 40, False))  # noqa: FBT003
    except Exception as error:
        raise _blamed(attempt, error, f"preview of {name}") from error


def _write(attempt: _Attempt, output: OutputPlan, frame: DataFrame, since: Base | None) -> OutputReport:
    command, story, dataset = attempt.command, attempt.story, output.dataset
    write = Write(output, command.workflow, command.job.name, command.run_id, since)
    story.tell("writing", f"output {output.name}: {output.mode} {dataset.address}", name=output.name)
    try:
        written = format_of(dataset.format).write(attempt.spark, frame, write, attempt.writer, story)
    except Exception as error:
        raise _blamed(attempt, error, f"output {output.name}", output) from error
    report = OutputReport(
        output.name, dataset.address, write.id, written.rows, written.files, snapshot_id=written.snapshot_id
    )
    story.log.info("output %s done: %s", output.name, report)
    story.note("output", name=output.name, dataset=dataset.address, rows=written.rows, files=written.files)
    return report


def _blamed(attempt: _Attempt, error: Exception, what: str, output: OutputPlan | None = None) -> Exception:
    """The error with its place: the SQL it comes from if that is known, else the output."""
    problem = from_spark(error, otherwise="write-failed" if output else "sql-failed")
    if output and problem.code == "write-failed":
        problem = refusal(attempt.spark, output.dataset, problem) or problem
    if problem.where is None:
        problem.where = blame(error, problem, attempt.job.steps) or (output.where if output else None)
    if isinstance(problem, JobError) and problem is not error:
        problem.message = f"{what}: {problem.message}"
    return problem
