"""One run being carried out: its engines, its events and its record, opened in time and always cleaned up."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from catchment.errors import SetupError
from catchment.events.hub import Hub
from catchment.events.sinks import JsonLines
from catchment.project.model import Project
from catchment.project.secrets import Redactor
from catchment.run.board import Board
from catchment.run.engines import Engines
from catchment.run.facts import RunFacts
from catchment.run.identity import log_directory
from catchment.run.model import Run
from catchment.run.options import Options

if TYPE_CHECKING:
    from catchment.run.executor import Executor
    from catchment.run.leases import Heartbeat
    from catchment.run.record import Record
    from catchment.store import Store


class Execution:
    """Use it in a `with` block: on the way out no engine is left."""

    def __init__(self, facts: RunFacts, project: Project, options: Options) -> None:
        self._facts = facts
        self._options = options
        self._redactor = Redactor(project.secrets)
        self._log_dir = log_directory(project, facts.run_id)
        self._hub = Hub(facts.run_id, self._redactor)
        self._board = Board({job.name: job.depends_on for job in facts.plan.jobs}, facts.kept)
        self._engines = Engines(
            facts.plan.engines,
            launch=options.launch,
            log_dir=self._log_dir,
            secrets=project.secrets,
            hub=self._hub,
        )

    def warm_up(self) -> None:
        """Announce the run and begin to start every engine that it needs at once: they take longest."""
        self._make_log_directory()
        plan = self._facts.plan
        names = [job.name for job in plan.jobs]
        data = {"workflow": plan.workflow, "file": plan.file, "jobs": names, "resumed": self._facts.resumed}
        self._hub.emit("run-started", data=data)
        engine_of = {job.name: job.engine for job in plan.jobs}
        for name in self._board.ready[: self._options.limit]:
            self._engines.need(engine_of[name])

    def carry_out(self, store: Store, heartbeat: Heartbeat) -> Run:
        """Run every job that is still to be done, as the holder of the run's lease."""
        # The metastore's library is slow to load; by now the engines are starting.
        from catchment.events.sinks import MetastoreSink
        from catchment.run.record import Record

        record = Record(self._facts, store.progress(heartbeat.lease, self._facts.run_id), self._hub, self._redactor)
        record.begin()
        lines = JsonLines(self._log_dir / "events.jsonl")
        self._hub.open([*self._options.sinks, lines, MetastoreSink(store.events, heartbeat.lease)])
        try:
            self._execute(record, heartbeat)
        finally:
            # The events end before the lease and the store do.
            self._engines.close(0.0)
            self._hub.close()
        return record.result()

    def _execute(self, record: Record, heartbeat: Heartbeat) -> None:
        executor = self._executor(record, heartbeat)
        try:
            executor.run()
        except KeyboardInterrupt:
            executor.abort()
            record.finish()
            raise
        record.finish()

    def _executor(self, record: Record, heartbeat: Heartbeat) -> Executor:
        from catchment.run.executor import Executor

        return Executor(
            self._facts,
            self._board,
            engines=self._engines,
            record=record,
            hub=self._hub,
            heartbeat=heartbeat,
            options=self._options,
        )

    def _make_log_directory(self) -> None:
        try:
            self._log_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SetupError(
                f"the directory {self._log_dir} for the run's logs cannot be made: {error.strerror}",
                code="no-permission",
                hint="give yourself write permission there",
            ) from error

    def __enter__(self) -> Execution:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._engines.close(0.0)
        self._hub.close()
