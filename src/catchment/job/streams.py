"""Runs a job that reads streams: every batch is a write whose id is the same on every attempt.

Each view that outputs write is a Spark query with a checkpoint of its own. The query waits while its batch is written
through buffer, seal and commit like any other write, and continues when all outputs of the view have it. If the engine
dies before Spark has recorded a batch that was written, the batch is found by its id.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import faults
from catchment.commit.leases import LEASE_SECONDS
from catchment.commit.presence import reading
from catchment.commit.writer import Writer
from catchment.engine.protocol import RunJob
from catchment.errors import CatchmentError, JobError
from catchment.formats.failures import from_spark
from catchment.formats.model import IdentifiesStreams
from catchment.formats.registry import find_format
from catchment.job.checkpoints import Checkpoint, about, written_views
from catchment.job.inputs import reading as reading_input
from catchment.job.lag import LagMeter
from catchment.job.lease import job_lease
from catchment.job.reports import added_up
from catchment.job.story import Story
from catchment.job.stream_queries import Batch, Queries, stateful_views
from catchment.plan.model import InputPlan, OutputPlan, StreamPlan
from catchment.run_model import JobReport
from catchment.store import Lease

POLL_SECONDS = 0.2
"""How long to wait for a batch before checking whether the job was cancelled or a query has ended."""
PROGRESS_SECONDS = 1.0
"""The shortest time between two reports on the batches of a view."""

OpenViews = Callable[[], Mapping[str, DataFrame]]
WriteBatch = Callable[[str, Sequence[OutputPlan], DataFrame], JobReport]
"""Writes rows to outputs under an identity; what is committed under it already is not written again."""


@dataclass
class StreamRun:
    """One attempt of a job that reads streams."""

    spark: SparkSession
    command: RunJob
    plan: StreamPlan
    story: Story
    writer: Writer
    open_views: OpenViews
    write_batch: WriteBatch
    _report: JobReport = field(default_factory=JobReport)
    _told: dict[str, int] = field(default_factory=dict)
    """The last batch that was reported, by view."""
    _asked: float = 0.0
    """When Spark was last asked for its progress."""

    def run(self) -> JobReport:
        """Run until everything is read or the job is stopped."""
        with job_lease(self.writer, self.command, self.story) as lease:
            frames = self.open_views()
            views = {view: frames[view] for view in written_views(self.command.job)}
            self._check(views)
            checkpoint = Checkpoint(self.spark, self.plan.checkpoint, self.plan.where)
            stateful = stateful_views(views)
            checkpoint.claim(about(self.command, self.spark.version, stateful, self._identities()))
            queries = Queries(self.spark, self.plan, stateful)
            try:
                self._start(queries, views, checkpoint)
                self._serve(queries, checkpoint, lease)
            finally:
                queries.stop()
        return self._report

    def _identities(self) -> dict[str, str]:
        found = {source.name: self._identity(source) for source in self.command.job.inputs if source.stream}
        return {name: identity for name, identity in found.items() if identity is not None}

    def _identity(self, source: InputPlan) -> str | None:
        format = find_format(source.dataset.format, IdentifiesStreams)
        with reading_input(source):
            return format.stream_identity(self.spark, source) if format else None

    def _check(self, views: Mapping[str, DataFrame]) -> None:
        for view in (view for view, frame in views.items() if not frame.isStreaming):
            output = next(each for each in self.command.job.outputs if each.source == view)
            raise JobError(
                f"output {output.name}: {view} reads no stream, so it would be written again with every batch",
                code="unsupported-stream-output",
                where=output.where,
                hint="write it in a job of its own, or let its SQL read the stream",
            )

    def _start(self, queries: Queries, views: Mapping[str, DataFrame], checkpoint: Checkpoint) -> None:
        for view, frame in views.items():
            self.story.tell("stream", f"stream {view}: checkpoint {checkpoint.of_view(view)}", name=view)
            try:
                queries.start(view, frame, checkpoint.of_view(view))
            except Exception as error:
                problem = from_spark(error, otherwise="unsupported-stream")
                raise problem.changed(message=f"{view}: {problem.message}").at(self.plan.where) from error

    def _serve(self, queries: Queries, checkpoint: Checkpoint, lease: Lease) -> None:
        meter = LagMeter(self.spark, [source for source in self.command.job.inputs if source.stream], self.story)
        while self._are_active(queries):
            self.story.check()
            batch = queries.next_batch(POLL_SECONDS)
            if batch is not None:
                self._write(queries, batch, checkpoint, lease)
            self._tell_progress(queries, meter, at_least=PROGRESS_SECONDS)
        self._tell_progress(queries, meter, at_least=0.0)

    def _are_active(self, queries: Queries) -> bool:
        try:
            return queries.are_active()
        except CatchmentError as error:
            source = next(each for each in self.command.job.inputs if each.stream)
            raise error.at(source.where) from error

    def _write(self, queries: Queries, batch: Batch, checkpoint: Checkpoint, lease: Lease) -> None:
        job, store = self.command.job, self.writer.store
        outputs = [output for output in job.outputs if output.source == batch.view]
        try:
            # Two attempts would give a batch the same ids, but they would interfere with each other in the checkpoint.
            store.leases.confirm(lease, LEASE_SECONDS)
            identity = checkpoint.identity(batch.view, queries.id_of(batch.view), batch.number)
            self.story.log.info("batch %d of %s: %s", batch.number, batch.view, identity)
            with reading(store, f"{job.name} on {self.writer.owner}"), queries.computing(batch, outputs) as rows:
                written = self.write_batch(identity, outputs, rows)
        except BaseException:
            batch.failed()
            raise
        faults.point("batch-written")
        batch.written()
        self._report = added_up([self._report, written])

    def _tell_progress(self, queries: Queries, meter: LagMeter, *, at_least: float) -> None:
        if time.monotonic() - self._asked < at_least:
            return
        self._asked = time.monotonic()
        for view, progress in queries.progress().items():
            if progress["batchId"] > self._told.get(view, -1):
                self._told[view] = progress["batchId"]
                self.story.note("batch", name=view, **_described(progress), lag=meter.read(progress))


def _described(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Facts about the last batch of a query, as Spark reports them."""
    return {
        "batch": progress["batchId"],
        "rows": progress["numInputRows"],
        "rows_per_second": round(progress.get("processedRowsPerSecond", 0.0), 1),
        "seconds": round(progress["durationMs"].get("triggerExecution", 0) / 1000, 3),
    }
