"""One attempt of one job: inputs to views, steps to views, outputs to the lake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.writer import Writer
from catchment.engine.protocol import RunJob
from catchment.errors import CommitConflict, JobError
from catchment.formats.failures import from_spark
from catchment.formats.model import EarlierWrite, Requester, Sink, Write, Written
from catchment.formats.registry import open_format
from catchment.job.backfill import Backfiller, Sessions
from catchment.job.earlier import input_states, tell_moved
from catchment.job.incremental import WindowLoop
from catchment.job.inputs import open_input
from catchment.job.places import refusal
from catchment.job.steps import blame, run_step
from catchment.job.story import Story
from catchment.job.windows import check_outputs, described
from catchment.maintain.actions import act
from catchment.maintain.changes import make_change
from catchment.plan.model import ChangePlan, JobPlan, OutputPlan
from catchment.project.model import Depot
from catchment.run_model import OutputResult
from catchment.store.states import Window
from catchment.who import who

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
    depots: Sequence[Depot]
    """Those that the engine knows."""
    window: Window | None = None
    """What the inputs that move read this time."""

    @property
    def identity(self) -> str:
        """What write ids begin with: the run, or whoever began the window."""
        return self.window.identity if self.window else self.command.run_id

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
) -> tuple[OutputResult, ...]:
    """Run one attempt in a session of its own; what it leaves in shared caches goes with its views.

    `sessions` gives further ones to those who do several things at once.
    """
    attempt = _Attempt(spark, command, story, writer, depots)
    if attempt.job.moves and command.request.backfill is not None:
        filling = Backfiller(partial(_prepared, attempt, sessions), command, story, writer, partial(_apart, attempt))
        return filling.run(command.request.backfill)
    _prepare(attempt)
    if command.job.change is not None:
        return (_change(attempt, command.job.change),)
    if not attempt.job.moves:
        return _turn(attempt)
    through, is_committed = (lambda window: _turn(replace(attempt, window=window))), partial(_is_committed, attempt)
    return WindowLoop(spark, command, story, writer, through, is_committed).run()


def _apart(attempt: _Attempt, session: SparkSession, story: Story, window: Window) -> tuple[OutputResult, ...]:
    """One window in a session of its own."""
    return _turn(replace(attempt, spark=session, story=story, window=window))


@contextmanager
def _prepared(attempt: _Attempt, sessions: Sessions) -> Iterator[SparkSession]:
    with sessions() as session:
        _prepare(replace(attempt, spark=session))
        yield session


def _turn(attempt: _Attempt) -> tuple[OutputResult, ...]:
    """The job from its inputs to its outputs, again where others changed what it replaces and it wants that."""
    if attempt.window is not None:
        check_outputs(attempt.job, attempt.window)
    for _ in range(MOST_RERUNS):
        try:
            return _pass(attempt)
        except CommitConflict as conflict:
            if conflict.code != "partitions-changed" or not _reruns(attempt.job):
                raise
            attempt.story.warn(f"{conflict.message}; the job runs again on the new state")
    return _pass(attempt)


def _change(attempt: _Attempt, change: ChangePlan) -> OutputResult:
    """What a job of the toolbox does; it may be done again."""
    command, story, address = attempt.command, attempt.story, change.dataset.address
    story.tell("writing", f"{change.name} {dict(change.arguments)}: {address}", name=change.name)
    requester = Requester(who(), command.run_id, command.job.name)
    facts = make_change(attempt.spark, change, requester, attempt.writer, story)
    story.log.info("%s done: %s", change.name, facts)
    if not facts["changed"]:
        story.warn(f"{change.name} of {address} has nothing to change: it is so already")
    write_id = f"{command.run_id}/{command.job.name}/{change.name}"
    return OutputResult(change.name, address, None, None, facts["snapshot_id"], write_id)


def _reruns(job: JobPlan) -> bool:
    return any(output.conflict == "rerun" for output in job.outputs)


def _pass(attempt: _Attempt) -> tuple[OutputResult, ...]:
    """Inputs to steps to outputs, once. What was committed in an earlier pass or attempt is not computed again."""
    outputs = attempt.job.writes
    earlier = {name: left for name, left in ((each.name, _earlier(attempt, each)) for each in outputs) if left}
    done = {each.name: _kept(attempt, each, earlier[each.name]) for each in outputs if _is_done(earlier, each)}
    if len(done) < len(outputs) or not outputs:
        done.update(_compute(attempt, [each for each in outputs if each.name not in done], earlier))
    return tuple(done[each.name] for each in outputs)


def _compute(
    attempt: _Attempt, outputs: Sequence[OutputPlan], earlier: Mapping[str, EarlierWrite]
) -> dict[str, OutputResult]:
    views: dict[str, DataFrame] = {}
    try:
        # Before anything is read: what others commit from here on, the job has not seen.
        begun = [_begun(attempt, output) for output in outputs]
        states = input_states(attempt.spark, attempt.job) | _windows(attempt)
        tell_moved(attempt.story, attempt.job, earlier, states)
        _read(attempt, views)
        _transform(attempt, views)
        writes = [replace(write, inputs=states) for write in begun]
        return {write.output.name: _write(attempt, write, views[write.output.source]) for write in writes}
    finally:
        for name in views:
            attempt.spark.catalog.dropTempView(name)


def _windows(attempt: _Attempt) -> dict[str, str]:
    parts = attempt.window.inputs if attempt.window else {}
    return {name: described(part) for name, part in parts.items()}


def _is_committed(attempt: _Attempt, window: Window) -> bool:
    of_window = replace(attempt, window=window)
    left = [_earlier(of_window, output) for output in attempt.job.writes]
    return bool(left) and all(each is not None and each.committed for each in left)


def _begun(attempt: _Attempt, output: OutputPlan) -> Write:
    with _blaming(attempt, output):
        since = open_format(output.dataset.format, Sink).begin(attempt.spark, output)
        return replace(_intended(attempt, output), since=since)


def _intended(attempt: _Attempt, output: OutputPlan) -> Write:
    return Write(output, attempt.command.workflow, attempt.job.name, attempt.identity)


def _earlier(attempt: _Attempt, output: OutputPlan) -> EarlierWrite | None:
    with _blaming(attempt, output):
        intended = _intended(attempt, output)
        return open_format(output.dataset.format, Sink).earlier(attempt.spark, intended, attempt.writer)


def _is_done(earlier: Mapping[str, EarlierWrite], output: OutputPlan) -> bool:
    return output.name in earlier and earlier[output.name].committed


def _kept(attempt: _Attempt, output: OutputPlan, left: EarlierWrite) -> OutputResult:
    attempt.story.warn(f"output {output.name} was already committed; nothing is written again")
    return _report(attempt, _intended(attempt, output), left.written)


def _prepare(attempt: _Attempt) -> None:
    command, story = attempt.command, attempt.story
    story.log.info(
        "job %s of workflow %s, run %s, attempt %d, reference time %s",
        *(attempt.job.name, command.workflow, command.run_id, command.number, command.request.reference_time),
    )
    for key, value in attempt.job.conf.items():
        story.log.info("setting %s = %s", key, value)
        _set(attempt, key, value)
    if int(attempt.spark.version.partition(".")[0]) >= SESSION_VARIABLES_SINCE:
        # The run's own clock: the same on every attempt, so that a retry around midnight writes the same rows.
        attempt.spark.sql(f"DECLARE VARIABLE run_time TIMESTAMP DEFAULT TIMESTAMP '{command.request.reference_time}'")


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
        part = attempt.window.inputs.get(source.name) if attempt.window else None
        views.update(open_input(attempt.spark, source, part))


def _transform(attempt: _Attempt, views: dict[str, DataFrame]) -> None:
    for step in attempt.job.steps:
        attempt.story.tell("step", f"step {step.name}:\n{step.sql}", name=step.name)
        views[step.name] = frame = run_step(attempt.spark, step, attempt.depots)
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


def _write(attempt: _Attempt, write: Write, frame: DataFrame) -> OutputResult:
    output, dataset, story = write.output, write.output.dataset, attempt.story
    story.tell("writing", f"output {output.name}: {output.mode} {dataset.address}", name=output.name)
    action = next((each for each in attempt.job.actions if each.output.name == output.name), None)
    with _blaming(attempt, output):
        if action is not None:
            written = act(attempt.spark, action, write, attempt.writer, story)
        else:
            written = open_format(dataset.format, Sink).write(attempt.spark, frame, write, attempt.writer, story)
    return _report(attempt, write, written)


def _report(attempt: _Attempt, write: Write, written: Written) -> OutputResult:
    name, address = write.output.name, write.output.dataset.address
    report = OutputResult(name, address, written.rows, written.files, written.snapshot_id, write.id)
    attempt.story.log.info("output %s done: %s", name, report)
    attempt.story.note("output", name=name, dataset=address, rows=written.rows, files=written.files)
    return report


@contextmanager
def _blaming(attempt: _Attempt, output: OutputPlan) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise _blamed(attempt, error, f"output {output.name}", output) from error


def _blamed(attempt: _Attempt, error: Exception, what: str, output: OutputPlan | None = None) -> Exception:
    """The error with its place: the SQL it comes from if that is known, else the output."""
    problem = from_spark(error, otherwise="write-failed" if output else "sql-failed")
    if output and problem.code == "write-failed":
        problem = refusal(attempt.spark, output.dataset, problem) or problem
    if isinstance(problem, JobError) and problem is not error:
        problem = problem.changed(message=f"{what}: {problem.message}")
    if problem.where is not None:
        return problem
    return problem.at(blame(error, problem, attempt.job.steps, attempt.depots) or (output.where if output else None))
