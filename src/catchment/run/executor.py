"""The main loop of a run: hands out ready jobs, handles messages of engines, and retries or skips jobs."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from catchment.engine.protocol import (
    WAITING_FOR_MEMORY,
    Cancel,
    Done,
    Failed,
    Note,
    Preparing,
    Publish,
    Ready,
    Reply,
    RunJob,
    Sealed,
)
from catchment.errors import EngineLost, EngineOutOfMemory
from catchment.events.hub import Hub
from catchment.plan.model import JobPlan
from catchment.run.engine_pool import EnginePool, RunningEngine
from catchment.run.identity import RunFacts
from catchment.run.job_queue import JobQueue
from catchment.run.recorder import RunRecorder, report
from catchment.run.retries import blamed, kind_of, pause_before_next
from catchment.run.run_options import RunOptions
from catchment.run.still_to_come import StillToCome
from catchment.store.holding import HeldLease

TICK_SECONDS = 0.2
"""How often the loop checks whether it was asked to stop."""


@dataclass(eq=False)
class Attempt:
    """One attempt of a job."""

    job: JobPlan
    number: int
    engine: RunningEngine
    sent: bool = False
    waiting: bool = False
    """Whether its engine has no memory for it yet."""

    @property
    def id(self) -> str:
        return f"{self.job.name}.{self.number}"


class Executor:
    """Executes the unfinished jobs of one run."""

    def __init__(
        self,
        facts: RunFacts,
        queue: JobQueue,
        *,
        engines: EnginePool,
        recorder: RunRecorder,
        hub: Hub,
        heartbeat: HeldLease,
        options: RunOptions,
    ) -> None:
        self._facts = facts
        self._jobs = {job.name: job for job in facts.plan.jobs}
        self._queue = queue
        self._engines = engines
        self._recorder = recorder
        self._hub = hub
        self._heartbeat = heartbeat
        self._limit = options.limit
        self._stop = options.stop
        self._timing = options.timing
        self._attempts: dict[str, Attempt] = {}
        self._pauses: list[tuple[float, str]] = []
        self._failures: dict[str, int] = {}
        self._first: dict[str, float] = {}
        self._refusals: dict[str, Failed] = {}
        """EnginePool that cannot start on this machine, and why; they are not tried again for the next job."""
        self._still_to_come = StillToCome(facts.plan.jobs, queue.left)
        self._needs = Counter(self._jobs[name].engine for name in queue.left)
        self._give_up: float | None = None
        """When to stop waiting for Spark, once the run is being cancelled."""

    def run(self) -> None:
        """Run until every job has ended."""
        while self._queue:
            self._heartbeat.check()
            if self._stop.is_set() and self._give_up is None:
                self._cancel()
            self._wake()
            self._hand_out()
            self._end_waits()
            self._listen()
            if self._give_up is not None and time.monotonic() >= self._give_up:
                self.abort()

    def abort(self) -> None:
        """Cancel every unfinished job at once."""
        for attempt in self._attempts.values():
            self._engines.retire(attempt.engine.key, grace=0.0)
        self._abandon(self._queue.left)

    def _wake(self) -> None:
        while self._pauses and self._pauses[0][0] <= time.monotonic():
            self._queue.give_back(heapq.heappop(self._pauses)[1])

    def _hand_out(self) -> None:
        while len(self._attempts) < self._limit and (name := self._queue.take()):
            self._take_up(self._jobs[name])

    def _end_waits(self) -> None:
        """Tell engines which of their sealed writes need not wait for others of this run any longer."""
        running = {attempt.job.name: attempt for attempt in self._attempts.values() if not attempt.waiting}
        retried = [name for _, name in self._pauses] if len(self._attempts) < self._limit else []
        for job, output in self._still_to_come.release([*running, *retried]):
            running[job].engine.process.send(Publish(running[job].id, output))

    def _take_up(self, job: JobPlan) -> None:
        number = self._recorder.attempts(job.name) + 1
        self._first.setdefault(job.name, time.monotonic())
        if job.name not in self._failures and job.engine in self._refusals:
            self._recorder.attempt_begins(job.name, number, job.engine)
            self._decide(job, self._refusals[job.engine])
            return
        self._refusals.pop(job.engine, None)
        # The engine first: it takes seconds to start, and the attempt can be recorded meanwhile.
        attempt = Attempt(job, number, self._engines.need(job.engine))
        self._attempts[attempt.id] = attempt
        self._recorder.attempt_begins(job.name, number, job.engine)
        if attempt.engine.ready:
            self._send(attempt)

    def _send(self, attempt: Attempt) -> None:
        attempt.sent = True
        facts = self._facts
        attempt.engine.process.send(
            RunJob(attempt.id, attempt.job, facts.plan.workflow, facts.run_id, attempt.number, facts.request)
        )
        self._recorder.attempt_runs(attempt.job.name, attempt.engine.key)

    def _listen(self) -> None:
        due = self._pauses[0][0] - time.monotonic() if self._pauses else TICK_SECONDS
        message = self._engines.receive(min(due, TICK_SECONDS))
        if message is not None:
            self._hear(*message)

    def _hear(self, engine: RunningEngine, reply: Reply | EngineLost) -> None:
        if isinstance(reply, EngineLost):
            self._engine_lost(engine, reply)
        elif isinstance(reply, Ready):
            self._engine_ready(engine, reply)
        elif isinstance(reply, Preparing):
            self._hub.emit("engine-preparing", engine=engine.key, data={"message": reply.message})
        elif isinstance(reply, Failed) and reply.attempt is None:
            self._engine_refused(engine, reply)
        elif isinstance(reply, Note | Sealed | Done | Failed):
            self._attempt_says(engine, reply)

    def _engine_ready(self, engine: RunningEngine, ready: Ready) -> None:
        engine.ready = True
        for attempt in self._on(engine):
            self._send(attempt)
        started = {
            "spark": ready.spark_version,
            "application": ready.application_id,
            "ui": ready.ui,
            "resident": ready.resident,
        }
        seconds = time.monotonic() - engine.since
        self._hub.emit("engine-ready", engine=engine.key, data={**started, "seconds": seconds})

    def _engine_lost(self, engine: RunningEngine, lost: EngineLost) -> None:
        self._engines.forget(engine)
        self._hub.emit("engine-lost", engine=engine.key, data={"error": asdict(report(lost))})
        attempts = self._on(engine)
        at_work = [attempt for attempt in attempts if not attempt.waiting]
        for attempt in attempts:
            alone = at_work == [attempt] and not engine.exhausted
            self._attempt_fails(attempt, blamed(lost, attempt.id, alone=alone))

    def _engine_refused(self, engine: RunningEngine, failed: Failed) -> None:
        self._engines.retire(engine.key, self._timing.stop)
        if not failed.retryable:
            self._refusals[engine.key] = failed
        for attempt in self._on(engine):
            self._attempt_fails(attempt, failed)

    def _attempt_says(self, engine: RunningEngine, reply: Note | Sealed | Done | Failed) -> None:
        attempt = self._attempts.get(reply.attempt or "")
        if attempt is None or attempt.engine is not engine or not attempt.sent:
            return  # about an attempt that has ended, or that was never sent to this engine
        if isinstance(reply, Note):
            attempt.waiting = reply.event == WAITING_FOR_MEMORY
            self._recorder.note(attempt.job.name, reply, engine.key)
            if reply.event == "batch":
                # A stream runs for weeks: what counts is how often it has failed since it last got on.
                self._failures.pop(attempt.job.name, None)
                self._first[attempt.job.name] = time.monotonic()
        elif isinstance(reply, Sealed):
            self._still_to_come.sealed(attempt.job.name, reply.output)
        elif isinstance(reply, Done):
            self._attempt_succeeds(attempt, reply)
        else:
            engine.exhausted |= reply.code == EngineOutOfMemory.code
            self._attempt_fails(attempt, reply)

    def _attempt_succeeds(self, attempt: Attempt, done: Done) -> None:
        del self._attempts[attempt.id]
        self._recorder.succeeded(attempt.job.name, done)
        self._queue.succeed(attempt.job.name)
        self._over([attempt.job.name])

    def _attempt_fails(self, attempt: Attempt, failure: Failed | EngineLost) -> None:
        del self._attempts[attempt.id]
        self._still_to_come.repeat(attempt.job.name)
        if self._give_up is not None:
            self._abandon([attempt.job.name])
        elif attempt.waiting:  # it had not begun, so this was none of the attempts that the job may have
            self._try_again(attempt.job, failure, 0.0)
        else:
            self._decide(attempt.job, failure)

    def _decide(self, job: JobPlan, failure: Failed | EngineLost) -> None:
        self._failures[job.name] = failures = self._failures.get(job.name, 0) + 1
        since_first = time.monotonic() - self._first[job.name]
        pause = pause_before_next(job.retry, kind_of(failure), failures, since_first)
        if pause is None:
            self._fail(job.name, failure)
        else:
            self._try_again(job, failure, pause)

    def _try_again(self, job: JobPlan, failure: Failed | EngineLost, pause: float) -> None:
        self._recorder.retrying(job.name, failure, pause)
        heapq.heappush(self._pauses, (time.monotonic() + pause, job.name))

    def _fail(self, name: str, failure: Failed | EngineLost) -> None:
        self._recorder.failed(name, failure)
        skipped = self._queue.fail(name)
        for dependant in skipped:
            self._recorder.skipped(dependant, because=name)
        self._over([name, *skipped])

    def _cancel(self) -> None:
        self._give_up = time.monotonic() + self._timing.cancel
        self._pauses.clear()
        under_way = {attempt.job.name for attempt in self._attempts.values() if attempt.sent}
        for attempt in self._attempts.values():
            if attempt.sent:
                attempt.engine.process.send(Cancel(attempt.id))
        self._abandon([name for name in self._queue.left if name not in under_way])

    def _abandon(self, names: Sequence[str]) -> None:
        for name in names:
            self._queue.abandon(name)
        gone = set(names)
        self._attempts = {id: attempt for id, attempt in self._attempts.items() if attempt.job.name not in gone}
        self._recorder.cancelled(names)
        self._over(names)

    def _over(self, names: Sequence[str]) -> None:
        self._still_to_come.end(names)
        for name in names:
            key = self._jobs[name].engine
            self._needs[key] -= 1
            if not self._needs[key]:
                self._engines.retire(key, self._timing.stop)

    def _on(self, engine: RunningEngine) -> list[Attempt]:
        return [attempt for attempt in self._attempts.values() if attempt.engine is engine]
