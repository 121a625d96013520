"""What goes wrong when writes are published: which errors may pass, and what the writer is told of the others."""

from __future__ import annotations

from catchment.commit.set_aside import UNREADABLE, set_aside_error, unreadable
from catchment.errors import CommitConflict, JobError
from catchment.jvm.causes import first_cause
from catchment.store.writes import FATE_UNKNOWN, Entry

PERMANENT = frozenset(
    {
        "org.apache.iceberg.exceptions.ForbiddenException",
        "org.apache.iceberg.exceptions.NoSuchTableException",
        "org.apache.iceberg.exceptions.NotAuthorizedException",
        "org.apache.iceberg.exceptions.ValidationException",
    }
)


def fate_unknown(write: Entry) -> JobError:
    """The error of a write whose outcome is unknown because the history has expired."""
    return JobError(
        f"it is unknown whether {write.write_id} was committed to {write.intent.target}: its history has expired",
        code=FATE_UNKNOWN,
        hint="look for its rows, then say what you saw: `catchment recover --accept-as committed|lost WRITE`; "
        "run recovery before you expire snapshots",
    )


def unpublishable(write: Entry, error: Exception) -> JobError:
    """The error of a write that is set aside."""
    if isinstance(error, UNREADABLE):
        return unreadable(write, error)
    return set_aside_error(write, str(first_cause(error).java.toString()))


def conflict(write: Entry) -> CommitConflict:
    """The error of a write that must not replace what others have committed."""
    what = "partitions" if write.intent.mode == "overwrite-partitions" else "rows"
    return CommitConflict(
        f"somebody committed to the {what} that {write.write_id} replaces in {write.intent.target} since the job began",
        code="partitions-changed",
        hint="run the job again on the new state, or set `conflict: last-wins` on the output",
    )


def is_transient(error: Exception) -> bool:
    """Whether an error may pass (busy, lost connection, time-out): its outcome is unknown, but it is no refusal."""
    name = str(first_cause(error).java.getClass().getName())
    # Java's own errors are about the request itself; what goes wrong between machines has other names.
    return name == "java.lang.RuntimeException" or not (name in PERMANENT or name.startswith("java.lang."))


def is_a(error: Exception, name: str) -> bool:
    """Whether an error is one of Iceberg's exceptions."""
    return str(first_cause(error).java.getClass().getName()) == f"org.apache.iceberg.exceptions.{name}"
