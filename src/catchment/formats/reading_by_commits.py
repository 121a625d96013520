"""Errors and settings of inputs that read commit by commit, shared by all formats."""

from __future__ import annotations

from datetime import datetime

from catchment.errors import JobError
from catchment.plan.model import InputPlan
from catchment.timestamps import moment

CHOICES = (
    "read everything again after `catchment state reset` (first empty the job's outputs, or let it merge), "
    "or continue from another commit with `catchment state set`; `catchment table snapshots` lists the commits"
)


def since(source: InputPlan) -> datetime | None:
    """The time from which the first run reads; None if it reads from the beginning. The default zone is UTC."""
    if source.commits is None or source.commits.since is None:
        return None
    return moment(source.commits.since)


def gone(source: InputPlan, what: str) -> JobError:
    """The error if the history between two commits is no longer there."""
    return _history_error(
        source, "source-history-gone", f"{what} is no longer in the history of {source.dataset.address}"
    )


def overwritten(source: InputPlan, commit: object, operation: str) -> JobError:
    """The error if a commit did not only add rows."""
    what = f"commit {commit} of {source.dataset.address} does not only add rows: it is an {operation}"
    return _history_error(source, "source-overwritten", what)


def _history_error(source: InputPlan, code: str, what: str) -> JobError:
    where = source.commits.where if source.commits else source.where
    return JobError(f"input {source.name}: {what}", code=code, where=where, hint=CHOICES)
