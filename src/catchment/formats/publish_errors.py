"""Errors of writes that cannot be published, whatever the format."""

from __future__ import annotations

from catchment.errors import CommitConflict, JobError
from catchment.store.writes import FATE_UNKNOWN, Entry


def fate_unknown(write: Entry) -> JobError:
    """The error of a write whose outcome is unknown because the history has expired."""
    return JobError(
        f"it is unknown whether {write.write_id} was committed to {write.intent.target}: its history has expired",
        code=FATE_UNKNOWN,
        hint="look for its rows, then say what you saw: `catchment recover --accept-as committed|lost WRITE`; "
        "run recovery before you expire snapshots",
    )


def overtaken(write: Entry) -> CommitConflict:
    """The error of a write that must not replace what others have committed."""
    what = "partitions" if write.intent.mode == "overwrite-partitions" else "rows"
    return CommitConflict(
        f"somebody committed to the {what} that {write.write_id} replaces in {write.intent.target} since the job began",
        code="partitions-changed",
        hint="run the job again on the new state, or set `conflict: last-wins` on the output",
    )
