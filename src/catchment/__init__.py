"""Catchment: declarative Spark workflows in which many engines write one lake at the same time.

>>> import catchment
>>> project = catchment.open("path/to/project")     # a directory, its catchment.yaml, or a workflow file in it
>>> run = project.run("taxi.yaml")
>>> run.status, [output.rows for job in run.jobs for output in job.outputs]

Values are plain frozen objects. There are no globals: a project may be used from several threads at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catchment.errors import CatchmentError, Diagnostic, InvalidFiles

if TYPE_CHECKING:
    import os
    import threading
    from contextlib import AbstractContextManager

    from catchment.events.hub import Sink
    from catchment.plan.model import Plan
    from catchment.plan.preparation import Prepared
    from catchment.project.model import Project as Settings
    from catchment.run.incremental_state import StateChange
    from catchment.run.inspection import What
    from catchment.run.lake import LakeSession
    from catchment.run.query_result import QueryResult
    from catchment.run.results import Run, RunSummary
    from catchment.run.workflow_changes import WorkflowChanges
    from catchment.spec.model import ChangeName
    from catchment.store.activity import TableActivity
    from catchment.store.states import State

__all__ = ["CatchmentError", "Diagnostic", "InvalidFiles", "Project", "open"]


def open(path: str | os.PathLike[str] = ".", *, env: str | None = None) -> Project:
    """Open the project that a directory or file belongs to, in one of its environments.

    Raises InvalidFiles if its catchment.yaml has errors.
    """
    from catchment import project

    return Project(project.load(Path(path), environment=env))


@dataclass(frozen=True)
class Project:
    """An open project. Relative paths of workflow files start from its root."""

    settings: Settings

    @property
    def root(self) -> Path:
        """The directory that relative paths start from."""
        return self.settings.root

    @property
    def environment(self) -> str | None:
        """The chosen environment, if any."""
        return self.settings.environment

    def validate(
        self, file: str | os.PathLike[str], *, vars: Mapping[str, object] | None = None
    ) -> tuple[Diagnostic, ...]:
        """All problems of a workflow file: errors and warnings."""
        prepared = self._prepare(file, vars)
        return (*prepared.diagnostics, *prepared.missing)

    def plan(
        self,
        file: str | os.PathLike[str],
        *,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
        vars: Mapping[str, object] | None = None,
    ) -> Plan:
        """The plan of a run of the file; raises InvalidFiles if the file has errors."""
        return self._prepare(file, vars, select, exclude).require()[1]

    def diff(
        self, file: str | os.PathLike[str], run_id: str | None = None, *, vars: Mapping[str, object] | None = None
    ) -> WorkflowChanges:
        """What a workflow would do differently from its newest run, or from the given run."""
        from catchment.run.workflow_changes import changes_since

        project, made = self._prepare(file, vars).require()
        return changes_since(made, project, run_id)

    def dry_run(
        self,
        file: str | os.PathLike[str],
        *,
        sample: int | None = 1000,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
        vars: Mapping[str, object] | None = None,
    ) -> list[Mapping[str, Any]]:
        """What each job would compute on a sample of its inputs, or without any data. Nothing is written."""
        from catchment.plan.missing_inputs import require_inputs
        from catchment.run.dry_run import dry_run

        project, made = self._prepare(file, vars, select, exclude).require()
        require_inputs(made)
        return dry_run(made, project, sample=sample)

    def run(
        self,
        file: str | os.PathLike[str],
        *,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
        vars: Mapping[str, object] | None = None,
        backfill: tuple[str, str] | None = None,
        windows: int | None = None,
        wait: bool = False,
        notify: Iterable[str] = (),
        jobs: int | None = None,
        sinks: Sequence[Sink] = (),
        stop: threading.Event | None = None,
    ) -> Run:
        """Run a workflow to its end. A failed job does not raise: it is in the result. Setting `stop` cancels the run.

        `backfill` is the first and the last value of a range that incremental jobs read again; `windows` limits how
        many windows they read. `notify` names hooks to call when the run ends. `Run.require_success()` raises if a job
        failed.

        Raises InvalidFiles before anything starts if the file has errors or an input certainly does not exist.
        """
        from catchment import run
        from catchment.plan.missing_inputs import require_inputs
        from catchment.run.requests import request_for

        # This project includes the secrets of the workflow, which must be masked, too.
        project, made = self._prepare(file, vars, select, exclude).require()
        require_inputs(made)
        request = request_for(made, backfill=backfill, windows=windows, wait=wait)
        return run.start(made, project, request, jobs=jobs, sinks=sinks, stop=stop, notify=tuple(notify))

    def resume(
        self,
        run_id: str,
        *,
        notify: Iterable[str] = (),
        jobs: int | None = None,
        sinks: Sequence[Sink] = (),
        stop: threading.Event | None = None,
    ) -> Run:
        """Resume an earlier run: run the jobs that did not succeed in it."""
        from catchment import run

        return run.resume(run_id, self.settings, jobs=jobs, sinks=sinks, stop=stop, notify=tuple(notify))

    def _prepare(
        self,
        file: str | os.PathLike[str],
        vars: Mapping[str, object] | None,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> Prepared:
        from catchment import plan
        from catchment.run.requests import choices_for

        return plan.prepare(self.root / file, project=self.settings, choices=choices_for(vars, select, exclude))

    def runs(self, limit: int = 20) -> list[RunSummary]:
        """The newest runs, newest first."""
        from catchment.run import run_history

        return run_history.runs(self.settings, limit)

    def show(self, run_id: str) -> Run:
        """One run with its jobs, outputs and errors."""
        from catchment.run import run_history

        return run_history.show(self.settings, run_id)

    def lake(self, engine: str | None = None) -> LakeSession:
        """An engine for several queries: `with project.lake() as lake: lake.query(…)`."""
        from catchment.run.lake import LakeSession

        return LakeSession(self.settings, engine=engine)

    def engine(self, name: str = "default") -> AbstractContextManager[None]:
        """Keep an engine ready: inside `with project.engine():`, runs and questions of this project start at once."""
        from catchment.run.residents.control import kept

        return kept(self.settings, name)

    def writers(self) -> tuple[TableActivity, ...]:
        """The tables that are being written to, and by whom."""
        from catchment.run import table_activity

        return table_activity.writers(self.settings)

    def recover(self, address: str | None = None, *, remove: bool = False) -> Mapping[str, Any]:
        """Finish or abandon the unfinished writes of lost engines; with `remove`, also remove abandoned files."""
        from catchment.run import recovery

        found = [table for table in recovery.look(self.settings, address) if table.recoverable]
        return recovery.recover(self.settings, found, remove=remove)

    def query(
        self,
        sql: str,
        *,
        limit: int | None = None,
        published: bool = False,
        write: bool = False,
        engine: str | None = None,
    ) -> QueryResult:
        """Run one SQL query; tables are `depot.collection.table`. `published` reads the published versions.

        The query may only read, unless `write` allows any statement. Without an engine name, an engine is chosen that
        can read the tables in the statement.
        """
        from catchment.run import lake

        return lake.query(self.settings, sql, limit=limit, published=published, write=write, engine=engine)

    def change(
        self, address: str, name: ChangeName, arguments: Mapping[str, Any], *, dry_run: bool = False
    ) -> Mapping[str, Any]:
        """Change a table as a toolbox job would: `project.change(address, "set_version", {"value": "latest"})`."""
        from catchment.run import tables

        return tables.change(self.settings, address, name, arguments, dry_run=dry_run)

    def state(self, workflow: str | None = None) -> tuple[State, ...]:
        """Where incremental inputs continue, for all workflows or for one."""
        from catchment.run import incremental_state

        return incremental_state.ls(self.settings, workflow)

    def set_state(
        self, workflow: str, job: str, input: str, keys: Mapping[str, str], *, zone: str = "UTC", new: bool = False
    ) -> tuple[StateChange, ...]:
        """Make the next run of an incremental job continue from these values; `new` allows a job that never ran."""
        from catchment.run import incremental_state
        from catchment.store.states import State

        wanted = State(workflow, job, input, dict(keys), zone)
        return incremental_state.set_keys(self.settings, wanted, dry_run=False, new=new)

    def reset_state(self, workflow: str, job: str, input: str | None = None) -> tuple[StateChange, ...]:
        """Make the next run of an incremental job start from the beginning, like its first run."""
        from catchment.run import incremental_state

        return incremental_state.reset(self.settings, workflow, job, input, dry_run=False)

    def tables(self, depot: str) -> list[Mapping[str, Any]]:
        """The tables of a depot, each with its address."""
        return list(self.inspect("tables", depot)["tables"])

    def table(self, address: str) -> Mapping[str, Any]:
        """Columns, partitions, properties, size and current snapshot of a table."""
        return self.inspect("table", address)

    def snapshots(self, address: str) -> list[Mapping[str, Any]]:
        """The commits of a table, with the writes in each."""
        return list(self.inspect("snapshots", address)["snapshots"])

    def inspect(self, what: What, target: str) -> Mapping[str, Any]:
        """Facts about a depot (`tables`) or about the table at an address."""
        from catchment.run import inspection

        return inspection.inspect(self.settings, what, target)
