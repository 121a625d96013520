"""Plans jobs that read streams, and reports what a stream cannot do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from os.path import realpath
from pathlib import Path

from catchment.errors import Diagnostic, Position, RequestError
from catchment.formats.registry import supporting, traits_of
from catchment.plan import datasets
from catchment.plan.graph import Graph
from catchment.plan.model import Dataset, InputPlan, JobPlan, OutputPlan, StreamPlan
from catchment.project import depots
from catchment.project.address import is_path, parse
from catchment.project.model import Engine, Project
from catchment.spec.findings import Findings
from catchment.spec.model import Input, Job, Output, Workflow
from catchment.spec.streaming import OutputMode, Streaming

STREAMS = "streams"
"""The directory under `.catchment` for checkpoints that have no location in their workflow."""
_PLACES = "write a path inside the project, or the address of a directory in a depot: dataos://depot:none/name"
_S3 = "spark.hadoop.fs.s3.impl"
"""The setting that tells Hadoop how to reach `s3://`."""
_FITTING: dict[OutputMode, tuple[frozenset[str], str]] = {
    "append": (
        frozenset({"append", "overwrite-partitions", "merge"}),
        "each batch would replace what the batches before it have written: use `saveMode: append`, "
        "`overwrite-mode: dynamic` or a merge, or `outputMode: complete`",
    ),
    "complete": (
        frozenset({"overwrite", "overwrite-partitions", "merge"}),
        "each batch has the whole result, which an append would add to the one before: use `saveMode: overwrite`",
    ),
    "update": (
        frozenset({"merge"}),
        "each batch has rows that take the place of earlier ones: use a merge, or a table with a primary key",
    ),
}
"""Which modes of outputs fit the output mode of a stream, and why others do not."""


def is_stream(given: Input, dataset: Dataset, findings: Findings) -> bool:
    """Whether an input is read as a stream; reports an input that cannot be."""
    traits = traits_of(dataset.format)
    streams, asked = traits.streams, traits.streams_by_default if given.is_stream is None else given.is_stream
    if asked and not streams:
        message = f"input `{given.name}` cannot be read as a stream: {dataset.format} has none"
        hint = f"leave `isStream` out; {supporting(STREAMS)} can be read as streams"
        findings.error("unsupported-stream-source", message, given.places["isStream"], hint)
    if asked and (given.incremental or given.commits):
        message = f"input `{given.name}` is a stream, which remembers by itself what was read"
        findings.error("unsupported-stream-source", message, given.places["isStream"], "remove `incremental`")
    if asked and given.bad_rows in ("drop", "quarantine"):
        message = f"bad rows of a stream cannot be counted, so `badRows: {given.bad_rows}` is not supported"
        hint = "leave it out: a batch with a bad row fails; or load the files with a job that is no stream"
        findings.error("unsupported-bad-rows", message, given.places["badRows"], hint)
    return asked and streams


def plan_stream(
    workflow: str,
    job: Job,
    inputs: Sequence[InputPlan],
    outputs: Sequence[OutputPlan],
    engine: Engine,
    project: Project,
) -> Iterator[Diagnostic | StreamPlan]:
    """The stream plan of a job, if it reads streams, and its problems."""
    streams = [source for source in inputs if source.stream]
    if not streams:
        if job.streaming is not None:
            message, hint = "no input of the job is a stream", "add `isStream: true` to an input, or remove this"
            yield Diagnostic("no-stream", message, job.streaming.where, hint)
        return
    given = job.streaming or Streaming(streams[0].where)
    yield from _unsupported(job, streams[0])
    by_name = {output.name: output for output in job.outputs}
    for output in outputs:
        yield from _unfitting(given, by_name.get(output.name), output)
    place = _checkpoint(workflow, job, given, engine, project)
    if isinstance(place, Diagnostic):
        yield place
        return
    where = given.checkpoint_where or streams[0].where
    yield from _overlaps(place, where, [each.dataset for each in inputs] + [each.dataset for each in outputs])
    yield StreamPlan(place, given.trigger, given.interval, given.output_mode, where)


def depot_of_checkpoint(job: Job) -> str | None:
    """The name of the depot that holds the checkpoint of a job, if the checkpoint is given as an address."""
    given = job.streaming.checkpoint if job.streaming else None
    try:
        return None if given is None or is_path(given) else parse(given).depot
    except RequestError:
        return None  # reported when the checkpoint is planned


def as_batches(output: OutputPlan) -> OutputPlan:
    """An output as a stream writes it: its batches do not linger."""
    return replace(output, linger=0.0)


def waiting(workflow: Workflow, plans: Sequence[JobPlan], graph: Graph[str]) -> Iterator[Diagnostic]:
    """Report jobs that wait for a stream that never ends by itself."""
    endless = {job.name for job in plans if job.stream is not None and job.stream.endless}
    for job in workflow.jobs:
        for name, where in job.dependencies:
            if name in endless:
                message = f"job `{job.name}` would never start: `{name}` is a stream that runs until somebody stops it"
                hint = f"remove the dependency, or give `{name}` the `triggerMode: AvailableNow`, with which it ends"
                yield Diagnostic("waits-for-stream", message, where, hint)


def sharing_checkpoints(plans: Sequence[JobPlan]) -> Iterator[Diagnostic]:
    """Report checkpoints in the directory of another job's checkpoint: a directory with files is refused to a job."""
    checkpoints = [(job.name, job.stream) for job in plans if job.stream is not None]
    for (name, first), (other, second) in combinations(checkpoints, 2):
        if _overlap(first.checkpoint, second.checkpoint):
            message = f"the checkpoints of the jobs `{name}` and `{other}` are in the same directory"
            yield Diagnostic("bad-checkpoint", message, second.where, "give each job a checkpoint of its own")


def _unsupported(job: Job, stream: InputPlan) -> Iterator[Diagnostic]:
    if job.actions:
        message, hint = "a job that reads a stream cannot have actions", "give the actions a job of their own"
        yield Diagnostic("unsupported-stream", message, job.actions[0].where, hint)
    if job.preview_rows:
        message, hint = "rows of a stream cannot be previewed", "remove `showPreviewLines`"
        yield Diagnostic("unsupported-stream", message, stream.where, hint)
    if not job.outputs:
        message, hint = "a job that reads a stream must write something", "add `outputs:`"
        yield Diagnostic("unsupported-stream", message, stream.where, hint)


def _unfitting(streaming: Streaming, given: Output | None, output: OutputPlan) -> Iterator[Diagnostic]:
    """Report settings of an output that cannot be used with batches."""
    modes, why = _FITTING[streaming.output_mode]
    upserts = bool(output.primary_key) and output.mode == "append"
    if output.mode not in modes and not upserts:
        message = f"output `{output.name}` ({output.mode}) does not fit the outputMode {streaming.output_mode}"
        yield Diagnostic("unsupported-stream-output", message, output.where, why)
    if output.commit == "direct":
        message = f"output `{output.name}` of a stream cannot use `commit: direct`"
        yield Diagnostic("unsupported-stream-output", message, output.where, "leave `commit` out")
    if output.conflict != "last-wins":
        message = f"output `{output.name}` of a stream cannot use `conflict: {output.conflict}`"
        hint = "leave it out: a batch is computed from what is new, and never again from what others have changed"
        yield Diagnostic("unsupported-stream-output", message, output.where, hint)
    if given is not None and given.linger:
        message, hint = f"output `{output.name}` of a stream cannot linger", "leave `linger` out"
        yield Diagnostic("unsupported-stream-output", message, output.where, hint)


def _checkpoint(workflow: str, job: Job, given: Streaming, engine: Engine, project: Project) -> str | Diagnostic:
    """The path or URI of the checkpoint, or a diagnostic if there is none."""
    if given.checkpoint is None:
        if engine.is_local:
            return str(project.home / STREAMS / workflow / job.name)
        message = f"engine `{engine.name}` runs on {engine.master}, which may not see the directory of the project"
        hint = "add `checkpointLocation` to `streaming`: an address in a depot that all of its machines can reach"
        return Diagnostic("no-checkpoint", message, given.where, hint)
    where = given.checkpoint_where or given.where
    try:
        return _place(given.checkpoint, engine, project)
    except RequestError as error:
        return Diagnostic(error.code, error.message, where, error.hint)


def _place(location: str, engine: Engine, project: Project) -> str:
    if not is_path(location):
        depot = depots.find(project, parse(location).depot)
        if not (depots.is_uri(depot.files) or depot.files.startswith("/")):  # a name that only a catalog knows
            raise _bad_checkpoint(f"the depot of `{location}` has no directory")
        # A Spark installation of the user's may know it from its own settings.
        if depot.files.startswith("s3://") and not (engine.spark_home or _S3 in {**engine.conf, **depot.conf}):
            raise _bad_checkpoint(
                f"Spark, which writes checkpoints, cannot write to {depot.files}: it knows S3 as s3a://",
                f"name a directory in a depot whose location begins with s3a://, or set {_S3}",
            )
        return datasets.of_file(location, project).path
    root = Path(realpath(project.root))
    path = Path(realpath(root / location.removeprefix("file://")))
    if root not in path.parents:
        raise _bad_checkpoint(f"the checkpoint `{location}` is outside of the project")
    return str(path)


def _bad_checkpoint(message: str, hint: str = _PLACES) -> RequestError:
    return RequestError(message, code="bad-checkpoint", hint=hint)


def _overlaps(place: str, where: Position, others: Sequence[Dataset]) -> Iterator[Diagnostic]:
    for dataset in others:
        path = dataset.path
        if path is not None and _overlap(place, path):
            message = f"the checkpoint and {dataset.address} are in the same directory"
            yield Diagnostic("bad-checkpoint", message, where, "give the checkpoint a directory of its own")


def _overlap(one: str, other: str) -> bool:
    return datasets.nested(one, other) or datasets.nested(other, one)
