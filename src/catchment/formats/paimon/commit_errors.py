"""Errors when writes are published: which of them may pass, and what is reported for the others."""

from __future__ import annotations

from catchment.commit.set_aside import UNREADABLE, set_aside_error, unreadable
from catchment.errors import CommitConflict, JobError, StorageUnavailable
from catchment.formats.failures import from_spark
from catchment.formats.paimon.snapshot_files import Snapshot
from catchment.store.writes import Entry


def may_pass(error: Exception) -> bool:
    """Whether another attempt may help: the store or the catalog did not answer."""
    return isinstance(from_spark(error), StorageUnavailable)


def unpublishable(write: Entry, error: Exception) -> JobError:
    """The error for a write that is set aside."""
    if isinstance(error, UNREADABLE):
        return unreadable(write, error)
    return set_aside_error(write, from_spark(error, otherwise="write-failed").message)


def unguarded(write: Entry, rival: Snapshot) -> CommitConflict:
    """The error for a write if another writer, which does not use the table's lease, writes the same table."""
    return CommitConflict(
        f"somebody without this metastore committed snapshot {rival.id} of {write.intent.target} while "
        f"{write.write_id} was being written; nothing keeps the two apart, and one of two commits may be lost",
        code="unguarded-table",
        hint="use a catalog that Paimon can lock (hive, or jdbc on SQLite or MySQL), one metastore for all writers, or "
        "let Catchment alone write the table; then run the job again",
    )


def rows_changed(write: Entry) -> CommitConflict:
    """The error for a delete or merge that was computed from rows that others have changed since."""
    return CommitConflict(
        f"somebody committed to the rows of {write.intent.target} that {write.write_id} was computed from",
        hint="run the job again when fewer jobs write to the table, or let them depend on each other",
    )


def buckets_changed(write: Entry) -> CommitConflict:
    """The error for a write that assigned keys to buckets without knowing what others have committed since."""
    return CommitConflict(
        f"somebody committed to the dynamic buckets of {write.intent.target} while {write.write_id} was being written",
        code="buckets-changed",
        hint="run the job again; a table with a fixed number of buckets (`bucket: 4`) takes any number of writers",
    )
