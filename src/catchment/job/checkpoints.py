"""The checkpoint of a stream: which job it belongs to, what may change while it is kept, and when its batches began.

The directory of a job has a file that says which job it belongs to, and a Spark checkpoint for each view that outputs
write. A checkpoint that was begun without the identities of its datasets has them in a second file.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import SparkSession

from catchment.engine.protocol import RunJob
from catchment.errors import JobError, Position
from catchment.formats.failures import from_spark
from catchment.formats.traits import READ_ANEW
from catchment.jvm.classes import Jvm
from catchment.plan.model import JobPlan
from catchment.run_model import RUN_TIME
from catchment.sql_parser import parse

ABOUT, IDENTITIES = "catchment.json", "identities.json"
VERSION = 1
_ANOTHER = "checkpoint-of-another-query"
_DAMAGED = "checkpoint-damaged"
_OF_ITS_OWN = "give each job a checkpoint of its own"
_AFRESH = "give the job another `checkpointLocation`: it then begins anew, and reads everything again"


@dataclass(frozen=True)
class About:
    """What a checkpoint says about the job that it belongs to."""

    workflow: str
    job: str
    spark: str
    """The major and minor version of the Spark that began it."""
    output_mode: str
    inputs: Mapping[str, str]
    """Format and address of each stream by name."""
    outputs: Mapping[str, str]
    """View, mode and address of each output by name."""
    stateful: Sequence[str]
    """The views whose rows depend on earlier batches."""
    steps: Mapping[str, str]
    """The normalized SQL of each step by name."""
    version: int = VERSION
    identities: Mapping[str, str] = field(default_factory=dict)
    """What tells the dataset of a stream from others with the same name, by the name of the input."""


def about(command: RunJob, spark: str, stateful: Sequence[str], identities: Mapping[str, str]) -> About:
    """What the checkpoint of a job has to say."""
    job = command.job
    inputs = {each.name: f"{each.dataset.format} {each.dataset.address}" for each in job.inputs if each.stream}
    outputs = {each.name: f"{each.source} to {each.dataset.format} {each.dataset.address}" for each in job.outputs}
    mode = job.stream.output_mode if job.stream else "append"
    steps = {step.name: _spelled(step.sql) for step in job.steps}
    line = ".".join(spark.split(".")[:2])
    return About(command.workflow, job.name, line, mode, inputs, outputs, list(stateful), steps, identities=identities)


def _spelled(sql: str) -> str:
    """SQL without insignificant differences, such as comments and line breaks."""
    statement = parse(sql)
    return statement.sql(dialect="spark", comments=False) if statement is not None else " ".join(sql.split())


def changes(before: About, now: About) -> Iterator[str]:
    """The differences that are not allowed while a checkpoint is kept."""
    yield from _differing("input", before.inputs, now.inputs)
    yield from _differing("output", before.outputs, now.outputs)
    if list(before.stateful) != list(now.stateful):
        then, here = (", ".join(each.stateful) or "none" for each in (before, now))
        yield f"views that remember rows of earlier batches: {then} before, {here} now"
    elif now.stateful:
        yield from _differing("step", before.steps, now.steps)
        yield from _differing("", {"outputMode": before.output_mode}, {"outputMode": now.output_mode})
        yield from _differing("", {"Spark": before.spark}, {"Spark": now.spark})


def replaced(before: About, now: About) -> Sequence[str]:
    """The inputs whose dataset is no longer the one that the stream has read."""
    known = before.identities
    return [name for name, identity in now.identities.items() if known.get(name, identity) != identity]


def _differing(what: str, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name in dict.fromkeys((*before, *now)):
        if before.get(name) != now.get(name):
            yield f"{what} {name}: {before.get(name, 'none')} before, {now.get(name, 'none')} now".strip()


@dataclass(frozen=True)
class Checkpoint:
    """The directory of one job."""

    spark: SparkSession
    place: str
    where: Position | None

    def of_view(self, view: str) -> str:
        """The directory for the checkpoint of one query."""
        return f"{self.place}/{view}"

    def claim(self, now: About) -> None:
        """Raise if the checkpoint belongs to another job, or does not fit what the job has become."""
        text = self._read(ABOUT)
        if text is None:
            self._clear()
            text = self._write(ABOUT, json.dumps(asdict(now), indent=1, ensure_ascii=False))
        before = self._about(text)
        if (before.workflow, before.job) != (now.workflow, now.job):
            message = f"{self.place} is the checkpoint of job {before.job} of workflow {before.workflow}"
            raise JobError(message, code=_ANOTHER, where=self.where, hint=_OF_ITS_OWN)
        if changed := list(changes(before, now)):
            message = f"the stream has changed in a way that its checkpoint does not allow: {'; '.join(changed)}"
            raise JobError(message, code="stream-changed", where=self.where, hint=f"undo the change, or {_AFRESH}")
        for name in replaced(self._with_identities(before, now), now):
            message = f"input {name}: {now.inputs[name]} was deleted and created again since the stream has read it"
            raise JobError(message, code="source-history-gone", where=self.where, hint=READ_ANEW)

    def _with_identities(self, before: About, now: About) -> About:
        """What the checkpoint has said, with the identities of all datasets."""
        if now.identities.keys() <= before.identities.keys():
            return before
        text = self._read(IDENTITIES) or self._write(IDENTITIES, json.dumps(now.identities))
        return replace(before, identities={**json.loads(text), **before.identities})

    def identity(self, view: str, query: str, number: int) -> str:
        """The beginning of the write ids of a batch, which is the same whenever and wherever the batch runs.

        It begins with the time at which the batch was planned, as a run id begins with the time of the run. Spark
        records that time before the batch runs for the first time.
        """
        text = self._read(f"{view}/offsets/{number}")
        if text is None:
            message = f"the checkpoint {self.of_view(view)} has lost batch {number} while the stream was running"
            raise JobError(message, code=_DAMAGED, where=self.where, hint=_AFRESH)
        return batch_identity(text, query, number)

    def _about(self, text: str) -> About:
        try:
            return About(**json.loads(text))
        except (ValueError, TypeError) as error:
            message = f"{self.place}/{ABOUT} cannot be read: {error}"
            raise JobError(message, code=_DAMAGED, where=self.where, hint=_AFRESH) from error

    def _clear(self) -> None:
        """Remove what a claim has left that was cut off; raise if there is anything else."""
        directory, files = self._at(None)
        found = [each.getPath() for each in files.listStatus(directory)] if files.exists(directory) else []
        if not all(path.getName().startswith(_unfinished(ABOUT)) for path in found):
            message = f"{self.place} is no checkpoint of Catchment"
            raise JobError(message, code=_ANOTHER, where=self.where, hint="name a directory that is empty or new")
        for path in found:
            files.delete(path, False)  # noqa: FBT003

    def _read(self, name: str) -> str | None:
        path, files = self._at(name)
        if not files.exists(path):
            return None
        stream = files.open(path)
        try:
            return str(Jvm.of(self.spark)("org.apache.commons.io.IOUtils").toString(stream, "UTF-8"))
        except Exception as error:
            problem = from_spark(error, otherwise=_DAMAGED)
            raise problem.changed(message=f"{path} cannot be read: {problem.message}").at(self.where) from error
        finally:
            stream.close()

    def _write(self, name: str, text: str) -> str:
        """Write a file under a temporary name and rename it, so that it appears whole or not at all.

        Returns what is there then, because another job may have been quicker.
        """
        path, files = self._at(name)
        unfinished = self._at(f"{_unfinished(name)}{uuid.uuid4().hex}")[0]
        stream = files.create(unfinished)
        try:
            stream.write(text.encode())
        finally:
            stream.close()
        reason: Exception | None = None
        try:
            if files.exists(path):  # some file systems would replace it
                files.delete(unfinished, False)  # noqa: FBT003
            else:
                files.rename(unfinished, path)
        except Exception as error:
            reason = error
        if (found := self._read(name)) is None:
            message = f"{path} could not be written; another job may be taking the directory"
            raise JobError(message, code=_ANOTHER, where=self.where, hint=_OF_ITS_OWN) from reason
        return found

    def _at(self, name: str | None) -> tuple[Any, Any]:
        """A path in the directory, and the file system that it is in."""
        path = Jvm.of(self.spark)("org.apache.hadoop.fs.Path")(self.place if name is None else f"{self.place}/{name}")
        return path, path.getFileSystem(self.spark._jsc.hadoopConfiguration())


def _unfinished(name: str) -> str:
    """How the temporary names of a file begin."""
    return f".{name}."


def batch_identity(offsets: str, query: str, number: int) -> str:
    """The identity of a batch from the entry of Spark's log that says what the batch reads."""
    millis = json.loads(offsets.splitlines()[1])["batchTimestampMs"]
    began = datetime.fromtimestamp(millis / 1000, tz=timezone.utc).strftime(RUN_TIME)
    return f"{began}-{query}-{number}"


def written_views(job: JobPlan) -> Sequence[str]:
    """The views that outputs write, each once."""
    return list(dict.fromkeys(output.source for output in job.outputs))
