"""Errors when writes are published: which of them may pass, and what is reported for the others."""

from __future__ import annotations

from catchment.commit.set_aside import UNREADABLE, set_aside_error, unreadable
from catchment.errors import JobError
from catchment.jvm.causes import first_cause
from catchment.store.writes import Entry

PERMANENT = frozenset(
    {
        "org.apache.iceberg.exceptions.ForbiddenException",
        "org.apache.iceberg.exceptions.NoSuchTableException",
        "org.apache.iceberg.exceptions.NotAuthorizedException",
        "org.apache.iceberg.exceptions.ValidationException",
    }
)


def unpublishable(write: Entry, error: Exception) -> JobError:
    """The error for a write that is set aside."""
    if isinstance(error, UNREADABLE):
        return unreadable(write, error)
    return set_aside_error(write, str(first_cause(error).java.toString()))


def is_transient(error: Exception) -> bool:
    """Whether an error may pass (busy, lost connection, time-out): its outcome is unknown, but it is no refusal."""
    name = str(first_cause(error).java.getClass().getName())
    # Java's own errors are about the request itself; trouble between machines has other names.
    return name == "java.lang.RuntimeException" or not (name in PERMANENT or name.startswith("java.lang."))


def is_a(error: Exception, name: str) -> bool:
    """Whether an error is one of Iceberg's exceptions."""
    return str(first_cause(error).java.getClass().getName()) == f"org.apache.iceberg.exceptions.{name}"
