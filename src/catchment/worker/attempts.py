"""One attempt inside a worker: a command that runs in its own session, job group and scheduler pool."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from catchment.commit.writer import Writer
from catchment.engine.memory import with_amounts
from catchment.engine.protocol import (
    WAITING_FOR_MEMORY,
    AskHealth,
    Change,
    Done,
    DropTable,
    Facts,
    Inspect,
    Maintain,
    Note,
    NoteEvent,
    Recover,
    Reply,
    RunJob,
    RunQuery,
    Start,
    TryJobs,
    Work,
    failure,
)
from catchment.errors import Cancelled, CatchmentError, EngineLost, EngineOutOfMemory, SetupError
from catchment.formats.failures import from_spark
from catchment.formats.model import Requester
from catchment.job.dry_run import DryRun
from catchment.job.lingering import Lingering
from catchment.job.rows import run_query
from catchment.job.running import run_job
from catchment.job.story import Story, job_log
from catchment.maintain.actions import health, maintain_by_hand
from catchment.maintain.changes import make_change
from catchment.maintain.dropping import drop_table
from catchment.project.secrets import Redactor
from catchment.worker.admission import Full, MemoryGate, Place
from catchment.worker.clients import Client
from catchment.worker.questions import inspect, recover_tables
from catchment.worker.session import Application
from catchment.worker.stage_progress import stage_progress


class Attempt:
    """A command of a client, from its arrival until it is answered."""

    def __init__(self, work: Work, start: Start, client: Client) -> None:
        self.work = work
        self.client = client
        self.group = f"{client.number}/{work.attempt}"
        """The group and the tag of its Spark jobs; two clients may have attempts of one name."""
        self.abandoned: float | None = None
        """Since when its client is gone."""
        self._start = start
        self._channel = channel = client.channel
        self._cancelled = threading.Event()
        self._lingering = Lingering(work.attempt, channel.send)
        self._place = Place()
        self._sending = threading.Lock()
        self._answered = False

    @property
    def id(self) -> str:
        return self.work.attempt

    def abandon(self) -> None:
        """Cancel what nobody waits for any more: its client is gone."""
        self.abandoned = time.monotonic()
        self.cancel()

    def cancel(self) -> None:
        """Stop as soon as possible; the attempt then fails with the code `cancelled`."""
        self._cancelled.set()
        self._lingering.end()

    def publish(self, output: str) -> None:
        """End the wait of a sealed output for others."""
        self._lingering.publish(output)

    def run(self, application: Application) -> None:
        """Run the command and send the answer; raises only if the JVM is gone."""
        try:
            self._join_job_group(application.context)
            with self._admitted(application.memory) as self._place, application.session() as session:
                reply: Reply = self._answer(session, application)
        except Exception as error:
            if (reason := application.stop_reason()) is not None:
                raise EngineLost(reason) from error
            reply = failure(self._to_catchment_error(error), self.id)
        with self._sending:
            self._answered = True
            self._channel.send(reply)

    def stop_if_cancelled(self, context: SparkContext) -> None:
        """If the attempt was cancelled, end the Spark jobs that it has started since."""
        if self._cancelled.is_set():
            context.cancelJobsWithTag(self.group)

    def send_progress(self, context: SparkContext) -> None:
        """Report the progress of the attempt's Spark jobs."""
        progress = stage_progress(context, self.group) if isinstance(self.work, RunJob) else None
        if progress:
            self._place.see_stages(time.monotonic())
        with self._sending:
            if progress and not self._answered:
                self._channel.send(Note(self.id, "progress", progress))

    def _admitted(self, gate: MemoryGate) -> AbstractContextManager[Place]:
        """A place in the engine's memory. Only jobs wait for one; the other commands are small, or somebody watches."""
        if not isinstance(self.work, RunJob):
            return nullcontext(self._place)
        return gate.admitted(self._cancelled, partial(self._waits, self.work), partial(self._goes_on, self.work))

    def _waits(self, work: RunJob, full: Full) -> None:
        heap = {"heap_used": full.heap.live, "heap_most": full.heap.most}
        self._tell_early(work, WAITING_FOR_MEMORY, "waiting for memory", **heap, running=full.running)

    def _goes_on(self, work: RunJob, seconds: float) -> None:
        self._tell_early(work, "admitted", f"has memory after {seconds:.1f} s", seconds=round(seconds, 3))

    def _tell_early(self, work: RunJob, event: NoteEvent, text: str, **data: float) -> None:
        """Report what happens before the job begins."""
        with self._job_log(work) as log:
            log.info(text)
        self._channel.send(Note(self.id, event, data))

    def _answer(self, session: SparkSession, application: Application) -> Reply:
        match self.work:
            case RunJob():
                # A stream would count as a reader for as long as it runs, so its batches do.
                reads = self.work.job.reads and self.work.job.stream is None
                with application.reading(self.work.job.name) if reads else nullcontext():
                    return self._run_job(session, self.work, application)
            case TryJobs():
                with self._registered(application):
                    return Facts(self.id, self._try_jobs(self.work, application))
            case RunQuery():
                with self._registered(application):
                    return self._run_query(session, self.work)
            case Inspect():
                return Facts(self.id, inspect(session, self.work))
            case Recover():
                return Facts(self.id, recover_tables(session, self.work, application.writer))
            case Change():
                return Facts(self.id, self._change_table(session, self.work, application.writer))
            case DropTable():
                return Facts(self.id, self._drop_table(session, self.work, application.writer))
            case Maintain():
                return Facts(self.id, self._maintain_table(session, self.work, application.writer))
            case AskHealth():
                return Facts(self.id, self._health(session, self.work, application.writer))

    def _registered(self, application: Application) -> AbstractContextManager[None]:
        """Record that a query reads, so that nobody expires what it needs. A project that may only be read has none."""
        try:
            return application.reading("query")
        except SetupError as error:
            lost = "while it runs, others may expire snapshots that it reads"
            message = f"the query is not recorded, and {lost}: {error.message}"
            self._channel.send(Note(self.id, "warning", {"message": message}))
            return nullcontext()

    def _try_jobs(self, work: TryJobs, application: Application) -> Mapping[str, Any]:
        sessions, depots = self._sessions(application), self._start.engine.depots
        return DryRun(work, sessions, application.writer.store, depots, self._story()).run()

    def _run_query(self, session: SparkSession, work: RunQuery) -> Reply:
        """Send all messages with rows except the last one, which is the answer."""
        messages = run_query(session, work, self._start.engine.depots)
        while (rows := next(messages)).more:
            self._channel.send(rows)
        return rows

    def _change_table(self, session: SparkSession, work: Change, writer: Writer) -> Mapping[str, Any]:
        return make_change(session, work.change, Requester(work.by), writer, self._story(), dry_run=work.dry_run)

    def _drop_table(self, session: SparkSession, work: DropTable, writer: Writer) -> Mapping[str, Any]:
        where = (session, work.table, work.published, writer, self._story())
        return drop_table(*where, expected=work.expected, dry_run=work.dry_run)

    def _maintain_table(self, session: SparkSession, work: Maintain, writer: Writer) -> Mapping[str, Any]:
        table, operation = work.table, work.operation
        return maintain_by_hand(session, table, operation, writer, self._story(), by=work.by, dry_run=work.dry_run)

    def _health(self, session: SparkSession, work: AskHealth, writer: Writer) -> Mapping[str, Any]:
        where = (session, work.table, writer, self._story())
        found = health(*where, work.small_file_bytes, known=work.known, wanted=work.wanted)
        return asdict(found) if found else {}

    def _story(self) -> Story:
        """The story of a command that is not a job and has no log of its own."""
        return Story(self.id, logging.getLogger(__name__), self._channel.send, self._cancelled)

    def _run_job(self, session: SparkSession, work: RunJob, application: Application) -> Reply:
        with self._job_log(work) as log:
            try:
                story = Story(self.id, log, self._channel.send, self._cancelled, self._lingering)
                sessions, depots = self._sessions(application), self._start.engine.depots
                report = run_job(session, work, story, application.writer, sessions, depots)
                return Done(self.id, report.outputs, report.inputs)
            except Exception as error:
                problem = self._to_catchment_error(error)
                log.error("%s [%s]\n%s", problem.message, problem.code, problem.detail or "")
                raise problem from error

    def _job_log(self, work: RunJob) -> AbstractContextManager[logging.Logger]:
        path = Path(self.client.log_dir) / f"{work.job.name}.{work.number}.log"
        return job_log(path, work.job.log_level, Redactor(self._start.secrets))

    def _sessions(self, application: Application) -> Callable[[], AbstractContextManager[SparkSession]]:
        """Opens sessions for threads of this attempt; what runs in them is cancelled with the attempt."""

        @contextmanager
        def opened() -> Iterator[SparkSession]:
            self._join_job_group(application.context)
            with application.session() as session:
                yield session

        return opened

    def _join_job_group(self, context: SparkContext) -> None:
        name = self.work.job.name if isinstance(self.work, RunJob) else self.work.kind
        context.setJobGroup(self.group, name, interruptOnCancel=True)
        # Actions of formats may run in groups of their own, but they keep the tags. Threads are used again.
        context.clearJobTags()
        context.addJobTag(self.group)
        context.setLocalProperty("spark.scheduler.pool", name)

    def _to_catchment_error(self, error: Exception) -> CatchmentError:
        # A cancelled Spark job fails in many ways, and none of those errors says that it was cancelled.
        if self._cancelled.is_set():
            return Cancelled("the job was cancelled")
        problem = from_spark(error)
        return with_amounts(problem, self._start.engine) if problem.code == EngineOutOfMemory.code else problem
