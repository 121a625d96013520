"""Workflow files with schedules: read when the scheduler starts, and again whenever they change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from catchment.errors import CatchmentError, Diagnostic, InvalidFiles, RequestError
from catchment.plan import prepare
from catchment.plan.preparation import Prepared
from catchment.project import load
from catchment.project.model import Project
from catchment.run.results import ErrorReport
from catchment.run.schedule.calendar import Calendar, calendar_of
from catchment.run_model import Choices
from catchment.spec.model import Schedule

Stamp = tuple[int, int]


class NoSchedule(RequestError):
    """The workflow has no schedule."""

    code = "no-schedule"


@dataclass(frozen=True)
class ScheduledWorkflow:
    """One workflow with a schedule, as its file was when it was read."""

    file: Path
    workflow: str
    project: Project
    schedule: Schedule
    calendar: Calendar
    stamp: Stamp | None
    """Changes when the file changes."""
    where: Path | None = None
    """Where its project is, if it is not the one that the file belongs to."""

    def again(self) -> ScheduledWorkflow:
        """The same as its files are now; raises as `read` does."""
        return read(self.file, self._prepared(), self.where)

    def require(self) -> None:
        """Raise if the workflow could not be run as its files are now."""
        self._prepared().require()

    def _prepared(self) -> Prepared:
        environment = self.project.environment
        project = load(self.where, environment=environment) if self.where else None
        return prepare(self.file, project=project, choices=Choices(environment=environment))


def read(file: Path, prepared: Prepared | None = None, where: Path | None = None) -> ScheduledWorkflow:
    """The schedule of a file; raises InvalidFiles if it could not be run, NoSchedule if it has none."""
    stamp = stamp_of(file)
    prepared = prepared or prepare(file)
    project, plan = prepared.require()
    schedule = prepared.workflow.schedule if prepared.workflow else None
    if schedule is None:
        raise NoSchedule(
            f"the workflow `{plan.workflow}` in {file} has no schedule",
            hint=f"give it `workflow.schedule.cron`, or run it once with `catchment run {file}`",
        )
    return ScheduledWorkflow(file, plan.workflow, project, schedule, calendar_of(schedule), stamp, where)


def check_together(all_of_them: Iterable[ScheduledWorkflow]) -> None:
    """Raise an error if one scheduler cannot follow these files together."""
    known: dict[str, ScheduledWorkflow] = {}
    for each in all_of_them:
        first = next(iter(known.values()), each)
        if each.project.metastore != first.project.metastore:
            raise RequestError(
                f"{first.file} and {each.file} belong to projects with different metastores",
                code="several-metastores",
                hint="start a scheduler for each project",
            )
        if each.workflow in known:
            raise RequestError(
                f"{known[each.workflow].file} and {each.file} are both named `{each.workflow}`",
                code="duplicate-workflow",
                hint="a schedule belongs to the workflow's name: give one of them another `name`",
            )
        known[each.workflow] = each


def trouble(followed: ScheduledWorkflow) -> ErrorReport | None:
    """Why a workflow cannot be run now; None if it can."""
    try:
        followed.require()
    except InvalidFiles as error:
        return _first(error)
    except CatchmentError as error:
        return ErrorReport.of(error)
    return None


def stamp_of(file: Path) -> Stamp | None:
    """Modification time and size of a file; None if there is no file."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _first(error: InvalidFiles) -> ErrorReport:
    found: Diagnostic = next(each for each in error.diagnostics if each.is_error)
    more = sum(each.is_error for each in error.diagnostics) - 1
    message = f"{found.message} (and {more} more)" if more else found.message
    where = found.where
    place = (where.file, where.line, where.column) if where else (None, None, None)
    return ErrorReport(found.code, message, found.hint or "`catchment validate` shows every problem", *place)
