"""Catchment: declarative Spark workflows in which many engines write one lake at the same time.

>>> import catchment
>>> project = catchment.open("path/to/project")     # a directory, its catchment.yaml, or a workflow file in it
>>> run = project.run("taxi.yaml")
>>> run.status, [output.rows for job in run.jobs for output in job.outputs]

Values are plain frozen objects. There are no globals: a project may be used from several threads at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catchment.errors import CatchmentError, Diagnostic, InvalidFiles

if TYPE_CHECKING:
    import os
    import threading

    from catchment.events.hub import Sink
    from catchment.plan.model import Plan
    from catchment.project.model import Project as Settings
    from catchment.run.inspection import What
    from catchment.run.lake import LakeSession
    from catchment.run.query_result import QueryResult
    from catchment.run.results import Run, RunSummary
    from catchment.spec.model import ChangeName
    from catchment.store.activity import TableActivity

__all__ = ["CatchmentError", "Diagnostic", "InvalidFiles", "Project", "open"]


def open(path: str | os.PathLike[str] = ".") -> Project:
    """Open the project that a directory or file belongs to; raises InvalidFiles if its catchment.yaml is wrong."""
    from catchment import project

    return Project(project.load(Path(path)))


@dataclass(frozen=True)
class Project:
    """An open project. Relative workflow files are looked up from its root."""

    settings: Settings

    @property
    def root(self) -> Path:
        """The directory that relative paths start from."""
        return self.settings.root

    def validate(self, file: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
        """Every problem of a workflow file."""
        from catchment import plan

        prepared = plan.prepare(self.root / file, project=self.settings)
        return (*prepared.diagnostics, *prepared.missing)

    def plan(self, file: str | os.PathLike[str]) -> Plan:
        """The plan of a run of the file; raises InvalidFiles if the file has errors."""
        from catchment import plan

        return plan.prepare(self.root / file, project=self.settings).require()[1]

    def run(
        self,
        file: str | os.PathLike[str],
        *,
        jobs: int | None = None,
        sinks: Sequence[Sink] = (),
        stop: threading.Event | None = None,
    ) -> Run:
        """Run a workflow to its end. A failed job does not raise: it is in the result. Setting `stop` cancels.

        Raises InvalidFiles before anything starts if the file has errors, or if an input is certainly not there.
        """
        from catchment import plan, run
        from catchment.plan.missing_inputs import require_inputs

        # With the secrets of the workflow, which must be masked too.
        project, made = plan.prepare(self.root / file, project=self.settings).require()
        require_inputs(made)
        return run.start(made, project, jobs=jobs, sinks=sinks, stop=stop)

    def resume(
        self,
        run_id: str,
        *,
        jobs: int | None = None,
        sinks: Sequence[Sink] = (),
        stop: threading.Event | None = None,
    ) -> Run:
        """Run what did not succeed in an earlier run."""
        from catchment import run

        return run.resume(run_id, self.settings, jobs=jobs, sinks=sinks, stop=stop)

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

    def writers(self) -> tuple[TableActivity, ...]:
        """The tables that are being written, and by whom."""
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

        It only reads, unless `write` allows more: then it may be any statement. Without a name, the engine is one that
        can read the tables that the statement names.
        """
        from catchment.run import lake

        return lake.query(self.settings, sql, limit=limit, published=published, write=write, engine=engine)

    def change(
        self, address: str, name: ChangeName, arguments: Mapping[str, Any], *, dry_run: bool = False
    ) -> Mapping[str, Any]:
        """Change a table as a toolbox job would: `project.change(address, "set_version", {"value": "latest"})`."""
        from catchment.run import tables

        return tables.change(self.settings, address, name, arguments, dry_run=dry_run)

    def inspect(self, what: What, target: str) -> Mapping[str, Any]:
        """Facts about a depot (`tables`) or about the table at an address."""
        from catchment.run import inspection

        return inspection.inspect(self.settings, what, target)
