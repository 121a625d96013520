"""Start a new run or resume an earlier one, and carry it out.

The metastore's library is slow to load. It is imported inside functions, so that engines can start meanwhile.
"""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from catchment import private_files
from catchment.errors import CatchmentError, SetupError
from catchment.events.hub import Hub
from catchment.events.sinks import JsonLines
from catchment.os_errors import explained
from catchment.plan.model import Plan
from catchment.project.model import Project
from catchment.project.secrets import Redactor
from catchment.run.engine_pool import EnginePool
from catchment.run.identity import RunFacts, log_directory
from catchment.run.job_queue import JobQueue
from catchment.run.residents.choosing import launching
from catchment.run.results import Run
from catchment.run.run_options import RunOptions
from catchment.run_model import RunRequest, new_run_id

if TYPE_CHECKING:
    from catchment.run.executor import Executor
    from catchment.run.recorder import RunRecorder
    from catchment.store import Store
    from catchment.store.holding import HeldLease
    from catchment.store.records import RunRecord


class Execution:
    """One run being carried out. Use it in a `with` block, which ends all engines on exit."""

    def __init__(self, facts: RunFacts, project: Project, options: RunOptions) -> None:
        self._facts = facts
        self._project = project
        self._options = options
        self._redactor = Redactor(project.secrets)
        self._home = project.home
        self._log_dir = log_directory(project, facts.run_id)
        self._hub = Hub(facts.run_id, self._redactor)
        self._queue = JobQueue({job.name: job.depends_on for job in facts.plan.jobs}, facts.kept)
        self._engines = EnginePool(
            facts.plan.engines,
            launch=options.launch or launching(project),
            log_dir=self._log_dir,
            secrets=project.secrets,
            hub=self._hub,
        )

    def warm_up(self) -> None:
        """Announce the run and start the engines of the first jobs, because engines take longest to start."""
        self._make_log_directory()
        plan = self._facts.plan
        names = [job.name for job in plan.jobs]
        data = {"workflow": plan.workflow, "file": plan.file, "jobs": names, "resumed": self._facts.resumed}
        self._hub.emit("run-started", data=data)
        engine_of = {job.name: job.engine for job in plan.jobs}
        for name in self._queue.ready[: self._options.limit]:
            self._engines.need(engine_of[name])

    def carry_out(self, store: Store, heartbeat: HeldLease) -> Run:
        """Run every unfinished job, as the holder of the run's lease."""
        from catchment.run.notify.run_watch import RunWatch
        from catchment.run.recorder import RunRecorder

        recorder = RunRecorder(
            self._facts, store.progress(heartbeat.lease, self._facts.run_id), self._hub, self._redactor
        )
        with RunWatch(self._project, recorder.result, named=self._options.notify, due=self._options.due) as watch:
            try:
                self._carry_out(store, heartbeat, recorder)
            except CatchmentError as error:
                watch.broke_off(error)
                raise
            watch.ended()
        return recorder.result()

    def _carry_out(self, store: Store, heartbeat: HeldLease, recorder: RunRecorder) -> None:
        from catchment.events.sinks import MetastoreSink

        recorder.begin()
        lines = JsonLines(self._log_dir / "events.jsonl")
        self._hub.open([*self._options.sinks, lines, MetastoreSink(store.events, heartbeat.lease)])
        try:
            self._execute(recorder, heartbeat)
        finally:
            # The event stream must end before the lease is released and the store is closed. Nobody who reads along is
            # waited for here: the caller's sinks are behind queues (`waited_for_last`).
            self._engines.close(0.0)
            self._hub.close()

    def _execute(self, recorder: RunRecorder, heartbeat: HeldLease) -> None:
        executor = self._executor(recorder, heartbeat)
        try:
            executor.run()
        except KeyboardInterrupt:
            executor.abort()
            recorder.finish()
            raise
        recorder.finish()

    def _executor(self, recorder: RunRecorder, heartbeat: HeldLease) -> Executor:
        from catchment.run.executor import Executor

        return Executor(
            self._facts,
            self._queue,
            engines=self._engines,
            recorder=recorder,
            hub=self._hub,
            heartbeat=heartbeat,
            options=self._options,
        )

    def _make_log_directory(self) -> None:
        try:
            private_files.make_directory(self._home)
            private_files.make_directory(self._log_dir)
        except OSError as error:
            if (known := explained(error)) is not None and known.code == "disk-full":
                raise known from error
            raise SetupError(
                f"the directory {self._log_dir} for the run's logs cannot be created: {error.strerror}",
                code="no-permission",
                hint="give yourself write permission there",
            ) from error

    def __enter__(self) -> Execution:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._engines.close(0.0)
        self._hub.close()


def start_run(plan: Plan, project: Project, request: RunRequest, options: RunOptions) -> Run:
    """Run a plan to its end."""
    facts = RunFacts(new_run_id(datetime.now(timezone.utc)), plan, request)
    from catchment.run.notify.run_watch import beginning

    with (
        beginning(project, facts.run_id, plan.workflow, options.notify) as watched,
        Execution(facts, project, options) as execution,
    ):
        execution.warm_up()
        # Only now, while the engines are starting.
        from catchment.run.leases import held_lease
        from catchment.store import PATIENCE_SECONDS, open_store

        with (
            open_store(project.metastore, patience=PATIENCE_SECONDS, once=True) as store,
            held_lease(store, facts.run_id, options.timing.lease) as heartbeat,
        ):
            watched()
            return execution.carry_out(store, heartbeat)


def resume_run(run_id: str, project: Project, options: RunOptions) -> Run:
    """Run what did not succeed, under the same run id and reference time, so that write ids stay the same."""
    from catchment.run.leases import inherited_lease
    from catchment.run.notify.run_watch import beginning
    from catchment.run.run_history import known_run, read_run
    from catchment.store import PATIENCE_SECONDS, open_store

    with (
        beginning(project, run_id, None, options.notify) as watched,
        open_store(project.metastore, patience=PATIENCE_SECONDS, once=True) as store,
    ):
        if known_run(store, run_id).status == "succeeded":
            return read_run(store, run_id)
        with inherited_lease(store, run_id, options) as heartbeat:
            # Read again: the previous holder of the lease may have made progress until now.
            execution = _taken_up(known_run(store, run_id), project, options, store)
            watched()
            with execution:
                execution.warm_up()
                return execution.carry_out(store, heartbeat)


def _taken_up(found: RunRecord, project: Project, options: RunOptions, store: Store) -> Execution:
    from catchment.plan import prepare
    from catchment.run.run_history import job_results

    project, plan = prepare(Path(found.file), project=project, recorded=found.choices).require()
    earlier = job_results(store, found.id)
    facts = RunFacts(found.id, plan, found.request, resumed=True, earlier=earlier)
    return Execution(facts, project, options)
