"""Runs one attempt of a job: reads its inputs, runs its steps, writes its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.writer import Writer
from catchment.engine.protocol import RunJob
from catchment.errors import CatchmentError, CommitConflict, JobError
from catchment.formats.failures import from_spark
from catchment.formats.model import EarlierWrite, Requester, Sink, Write, Written
from catchment.formats.registry import open_format
from catchment.formats.sql import published_catalogs
from catchment.job.backfill import Backfiller, Sessions
from catchment.job.bad_rows import BAD_ROWS, as_quarantined, explained, has_bad_rows, tell
from catchment.job.cached_tables import mark_views
from catchment.job.earlier import input_versions, warn_changed_inputs
from catchment.job.incremental import WindowLoop
from catchment.job.inputs import open_input, reading
from catchment.job.job_session import prepare_session
from catchment.job.links import check_links
from catchment.job.places import refusal, with_space_left
from catchment.job.statements import Allowed
from catchment.job.steps import blame, run_step
from catchment.job.story import Story
from catchment.job.streams import StreamRun
from catchment.job.views import drop_views
from catchment.job.windows import check_outputs, described
from catchment.maintain.actions import act
from catchment.maintain.changes import make_change
from catchment.plan.model import ChangePlan, InputPlan, JobPlan, OutputPlan
from catchment.project.model import Depot
from catchment.run_model import InputResult, JobReport, OutputResult, snapshot_name
from catchment.store.states import Window, record_of
from catchment.who import who

MAX_RERUNS = 3
"""How often a job starts again because other writers changed the partitions that it replaces."""


@dataclass(frozen=True)
class _Attempt:
    """What all parts of one attempt need."""

    spark: SparkSession
    command: RunJob
    story: Story
    writer: Writer
    depots: Sequence[Depot]
    """The depots of the engine."""
    window: Window | None = None
    """The window that incremental inputs read."""
    batch: str | None = None
    """The identity of the batch of a stream."""

    @property
    def identity(self) -> str:
        """The beginning of write ids: the run, or the identity of the window or the batch."""
        return self.batch or (self.window.identity if self.window else self.command.run_id)

    @property
    def job(self) -> JobPlan:
        return self.command.job


def run_job(
    spark: SparkSession,
    command: RunJob,
    story: Story,
    writer: Writer,
    sessions: Sessions,
    depots: Sequence[Depot],
) -> JobReport:
    """Run one attempt in the given session.

    `sessions` opens further sessions, for windows and for what runs again: what the steps of one have set, declared or
    cached is not there in the next one.
    """
    try:
        return _run(_Attempt(spark, command, story, writer, depots), sessions)
    except Exception as error:
        problem = from_spark(error)
        if problem.code != BAD_ROWS:
            raise
        raise explained(spark, command.job, story, problem) from error


def _run(attempt: _Attempt, sessions: Sessions) -> JobReport:
    spark, command, story, writer = attempt.spark, attempt.command, attempt.story, attempt.writer
    fresh = partial(_prepared, attempt, sessions)
    run_window = partial(_run_window, attempt, fresh)
    if attempt.job.moves and command.request.backfill is not None:
        return Backfiller(fresh, command, story, writer, run_window).run(command.request.backfill)
    _prepare(attempt)
    if command.job.change is not None:
        return JobReport((_change(attempt, command.job.change),))
    if command.job.stream is not None:
        open_views, write_batch = partial(_views, attempt), partial(_write_batch, attempt)
        return StreamRun(spark, command, command.job.stream, story, writer, open_views, write_batch).run()
    if not attempt.job.moves:
        return _run_with_reruns(attempt, fresh)
    return WindowLoop(spark, command, story, writer, run_window, partial(_is_committed, attempt)).run()


@contextmanager
def _prepared(attempt: _Attempt, sessions: Sessions) -> Iterator[SparkSession]:
    with sessions() as session:
        _prepare(replace(attempt, spark=session))
        yield session


def _run_window(attempt: _Attempt, fresh: Sessions, window: Window, story: Story | None = None) -> JobReport:
    """Run one window in its own session."""
    check_outputs(attempt.job, window)
    with fresh() as session:
        return _run_with_reruns(replace(attempt, spark=session, story=story or attempt.story, window=window), fresh)


def _run_with_reruns(attempt: _Attempt, fresh: Sessions, left: int = MAX_RERUNS) -> JobReport:
    """Run the job once, and again after a conflict if an output asks for that (`conflict: rerun`)."""
    try:
        return _run_once(attempt)
    except CommitConflict as conflict:
        if not left or conflict.code != "partitions-changed" or not _reruns(attempt.job):
            raise
        attempt.story.warn(f"{conflict.message}; the job runs again on the new state")
    with fresh() as session:
        return _run_with_reruns(replace(attempt, spark=session), fresh, left - 1)


def _change(attempt: _Attempt, change: ChangePlan) -> OutputResult:
    """Make the change of a toolbox job; safe to repeat."""
    command, story, address = attempt.command, attempt.story, change.dataset.address
    story.tell("writing", f"{change.name} of {address}{_listed(change.arguments)}", name=change.name)
    requester = Requester(who(), command.run_id, command.job.name)
    facts = make_change(attempt.spark, change, requester, attempt.writer, story)
    story.log.info("%s done%s", change.name, _listed(facts))
    if not facts["changed"]:
        story.warn(f"{change.name}: nothing to change in {address}")
    write_id = f"{command.run_id}/{command.job.name}/{change.name}"
    return OutputResult(change.name, address, None, None, facts["snapshot_id"], write_id)


def _listed(facts: Mapping[str, Any]) -> str:
    """Names and values for the log; nothing if there are none."""
    told = ", ".join(f"{name} {value}" for name, value in facts.items() if value is not None)
    return f": {told}" if told else ""


def _reruns(job: JobPlan) -> bool:
    return any(output.conflict == "rerun" for output in job.outputs)


def _run_once(attempt: _Attempt) -> JobReport:
    """Compute the outputs that no earlier attempt has committed."""
    outputs = attempt.job.writes
    earlier = {name: left for name, left in ((each.name, _earlier(attempt, each)) for each in outputs) if left}
    done = {
        each.name: _report_earlier(attempt, each, earlier[each.name]) for each in outputs if _is_done(earlier, each)
    }
    bad: dict[str, int] = {}
    if len(done) < len(outputs) or not outputs:
        done.update(_compute(attempt, [each for each in outputs if each.name not in done], earlier, bad))
    return JobReport(
        tuple(done[each.name] for each in outputs), tuple(_found(each, done, bad) for each in attempt.job.inputs)
    )


def _found(source: InputPlan, done: Mapping[str, OutputResult], bad: Mapping[str, int]) -> InputResult:
    rows = done[source.quarantine].rows if source.quarantine else bad.get(source.name)
    return InputResult(source.name, source.dataset.address, rows)


def _compute(
    attempt: _Attempt, outputs: Sequence[OutputPlan], earlier: Mapping[str, EarlierWrite], bad: dict[str, int]
) -> dict[str, OutputResult]:
    """Write these outputs; fills `bad` with the number of bad rows by input, except those that are quarantined."""
    views: dict[str, DataFrame] = {}
    try:
        # Before anything is read: commits of other writers after this are changes that the job has not seen.
        begun = [_begin(attempt, output) for output in outputs]
        states = input_versions(attempt.spark, attempt.job) | _window_texts(attempt)
        warn_changed_inputs(attempt.story, attempt.job, earlier, states)
        _read(attempt, views, bad)
        _transform(attempt, views)
        writes = [replace(write, inputs=states, window=_window_record(attempt)) for write in begun]
        return {write.output.name: _write(attempt, write, views[write.output.source]) for write in writes}
    finally:
        drop_views(attempt.spark)


def _views(attempt: _Attempt) -> Mapping[str, DataFrame]:
    """The views of a stream's inputs and steps."""
    views: dict[str, DataFrame] = {}
    _read(attempt, views, {})
    _transform(attempt, views)
    return views


def _write_batch(attempt: _Attempt, identity: str, outputs: Sequence[OutputPlan], rows: DataFrame) -> JobReport:
    """Write one batch of a stream to the outputs that do not have it yet."""
    of_batch = replace(attempt, batch=identity, story=attempt.story.of_batch())
    earlier = {output.name: _earlier(of_batch, output) for output in outputs}
    done = []
    for output in outputs:
        left = earlier[output.name]
        if left is not None and left.committed:
            done.append(_report_earlier(of_batch, output, left))
        else:
            done.append(_write(of_batch, _begin(of_batch, output), rows))
    return JobReport(tuple(done))


def _window_texts(attempt: _Attempt) -> dict[str, str]:
    parts = attempt.window.inputs if attempt.window else {}
    return {name: described(part) for name, part in parts.items()}


def _window_record(attempt: _Attempt) -> Mapping[str, Any] | None:
    """The record of the window for the history of the outputs; backfills have none, as no state continues from them."""
    window = attempt.window
    return record_of(window, attempt.writer.ledger.metastore) if window and window.cause == "run" else None


def _is_committed(attempt: _Attempt, window: Window) -> bool:
    of_window = replace(attempt, window=window)
    left = [_earlier(of_window, output) for output in attempt.job.writes]
    return bool(left) and all(each is not None and each.committed for each in left)


def _begin(attempt: _Attempt, output: OutputPlan) -> Write:
    with _locating_errors(attempt, output):
        since = open_format(output.dataset.format, Sink).begin(attempt.spark, output)
        return replace(_intended(attempt, output), since=since)


def _intended(attempt: _Attempt, output: OutputPlan) -> Write:
    return Write(output, attempt.command.workflow, attempt.job.name, attempt.identity)


def _earlier(attempt: _Attempt, output: OutputPlan) -> EarlierWrite | None:
    with _locating_errors(attempt, output):
        intended = _intended(attempt, output)
        return open_format(output.dataset.format, Sink).earlier(attempt.spark, intended, attempt.writer)


def _is_done(earlier: Mapping[str, EarlierWrite], output: OutputPlan) -> bool:
    return output.name in earlier and earlier[output.name].committed


def _report_earlier(attempt: _Attempt, output: OutputPlan, left: EarlierWrite) -> OutputResult:
    attempt.story.warn(f"output {output.name} was already committed; nothing is written again")
    return _report(attempt, _intended(attempt, output), left.written)


def _prepare(attempt: _Attempt) -> None:
    command, story = attempt.command, attempt.story
    story.log.info(
        "job %s of workflow %s, run %s, attempt %d, reference time %s",
        *(attempt.job.name, command.workflow, command.run_id, command.number, command.request.reference_time),
    )
    prepare_session(attempt.spark, attempt.job, command.request.reference_time, attempt.depots, story.log)
    mark_views(attempt.spark, [step.sql for step in attempt.job.steps])


def _read(attempt: _Attempt, views: dict[str, DataFrame], bad: dict[str, int]) -> None:
    for source in attempt.job.inputs:
        dataset = source.dataset
        text = f"input {source.name}: {dataset.format} {dataset.address} {dataset.path or ''}"
        attempt.story.tell("input", text.rstrip(), name=source.name, dataset=dataset.address)
        check_links(dataset, attempt.depots, source.where)
        part = attempt.window.inputs.get(source.name) if attempt.window else None
        opened = open_input(attempt.spark, source, part)
        views.update(opened.views)
        if opened.bad is not None and source.quarantine:
            views[source.quarantine] = as_quarantined(opened.bad, source, attempt.job, attempt.command.run_id)
        elif has_bad_rows(source):
            bad[source.name] = _count_dropped(attempt, source, opened.bad) if opened.bad is not None else 0


def _count_dropped(attempt: _Attempt, source: InputPlan, bad: DataFrame) -> int:
    with reading(source):
        rows = int(bad.count())
    tell(attempt.story, source, rows, None)
    return rows


def _transform(attempt: _Attempt, views: dict[str, DataFrame]) -> None:
    for step in attempt.job.steps:
        attempt.story.tell("step", f"step {step.name}:\n{step.sql}", name=step.name)
        views[step.name] = frame = run_step(attempt.spark, step, attempt.depots, _allowed(attempt))
        if attempt.job.explain:
            _explain(attempt, step.name, frame)
        if attempt.job.preview_rows and frame.columns:
            _preview(attempt, step.name, frame)


def _allowed(attempt: _Attempt) -> Allowed:
    hint = "let an output write the rows; or set `sideEffects: true` in the job, which is then never retried by itself"
    return Allowed(attempt.job.side_effects, published_catalogs(attempt.depots), hint=hint)


def _explain(attempt: _Attempt, name: str, frame: DataFrame) -> None:
    attempt.story.tell("explain", f"plan of {name}:\n{frame._jdf.queryExecution().toString()}", name=name)


def _preview(attempt: _Attempt, name: str, frame: DataFrame) -> None:
    count = attempt.job.preview_rows
    attempt.story.tell("preview", f"first {count} rows of {name}:", name=name, rows=count)
    try:
        attempt.story.log.info("%s", frame._jdf.showString(count, 40, False))  # noqa: FBT003
    except Exception as error:
        raise _located(attempt, error, f"preview of {name}") from error


def _write(attempt: _Attempt, write: Write, frame: DataFrame) -> OutputResult:
    output, dataset, story = write.output, write.output.dataset, attempt.story.of_output(write.output)
    story.tell("writing", f"output {output.name}: {output.mode} {dataset.address}", name=output.name)
    check_links(dataset, attempt.depots, output.where)
    action = next((each for each in attempt.job.actions if each.output.name == output.name), None)
    with _locating_errors(attempt, output, write):
        if action is not None:
            written = act(attempt.spark, action, write, attempt.writer, story)
        else:
            written = open_format(dataset.format, Sink).write(attempt.spark, frame, write, attempt.writer, story)
    for source in (each for each in attempt.job.inputs if each.quarantine == output.name):
        tell(story, source, written.rows or 0, dataset.address)
    return _report(attempt, write, written)


def _report(attempt: _Attempt, write: Write, written: Written) -> OutputResult:
    name, address = write.output.name, write.output.dataset.address
    report = OutputResult(name, address, written.rows, written.files, snapshot_name(written.snapshot_id), write.id)
    counts = _listed({"rows": written.rows, "files": written.files, "snapshot": written.snapshot_id, "write": write.id})
    attempt.story.log.info("output %s done%s", name, counts)
    attempt.story.note("output", name=name, dataset=address, rows=written.rows, files=written.files)
    return report


@contextmanager
def _locating_errors(attempt: _Attempt, output: OutputPlan, write: Write | None = None) -> Iterator[None]:
    """Give errors their position; a write that fails is closed in the ledger."""
    try:
        yield
    except Exception as error:
        problem = _located(attempt, error, f"output {output.name}", output)
        if write is not None:
            attempt.writer.close_failed(write.id, problem)
        raise problem from error


def _located(attempt: _Attempt, error: Exception, what: str, output: OutputPlan | None = None) -> CatchmentError:
    """The error with its position: that of the SQL if it is known, otherwise that of the output."""
    problem = from_spark(error, otherwise="write-failed" if output else "sql-failed")
    if output and problem.code == "write-failed":
        problem = refusal(attempt.spark, output.dataset, problem) or problem
    if problem.code == "disk-full":
        problem = with_space_left(attempt.spark, output.dataset if output else None, problem)
    if isinstance(problem, JobError) and problem is not error:
        problem = problem.changed(message=f"{what}: {problem.message}")
    if problem.where is not None:
        return problem
    return problem.at(blame(error, problem, attempt.job.steps, attempt.depots) or (output.where if output else None))
