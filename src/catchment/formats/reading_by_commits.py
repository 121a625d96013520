"""Reading by commits: what every format says where its history cannot be read on from."""

from __future__ import annotations

from datetime import datetime

from catchment.errors import JobError
from catchment.plan.model import InputPlan
from catchment.timestamps import moment

CHOICES = (
    "read everything anew with `catchment state reset` (first empty what the job has written, or let it merge), "
    "or go on from a commit of your choice with `catchment state set`; `catchment table snapshots` lists them"
)


def since(source: InputPlan) -> datetime | None:
    """The moment at which the first run begins, None where it begins with the table; without a zone it is UTC."""
    if source.commits is None or source.commits.since is None:
        return None
    return moment(source.commits.since)


def gone(source: InputPlan, what: str) -> JobError:
    """The history between two commits is no longer there."""
    return _refused(source, "source-history-gone", f"{what} is no longer in the history of {source.dataset.address}")


def overwritten(source: InputPlan, commit: object, operation: str) -> JobError:
    """A commit did not only add rows."""
    what = f"{source.dataset.address} was not only added to: its commit {commit} is an {operation}"
    return _refused(source, "source-overwritten", what)


def _refused(source: InputPlan, code: str, what: str) -> JobError:
    where = source.commits.where if source.commits else source.where
    return JobError(f"input {source.name}: {what}", code=code, where=where, hint=CHOICES)
