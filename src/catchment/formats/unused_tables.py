"""Drops the table that a failed write has created, if no other write has used it.

To drop a table without rows, a process takes a lease first and then looks for open writes. To write to such a table, it
opens the write first and then looks for that lease. So at least one of the two sees the other: either the table stays,
or the writer finds that it is gone and creates it again. Writers do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from catchment.commit.abandonment import reason
from catchment.commit.leases import await_release, table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import CatchmentError, Retryable
from catchment.jvm.causes import JVM_ERRORS, first_cause
from catchment.plan.model import Dataset
from catchment.store.writes import Entry, Intent


class TableVanished(Retryable):
    """The table is gone: the write that created it failed, and no other write had used it."""

    code = "table-vanished"


def vanished(dataset: Dataset) -> TableVanished:
    """The error for a write to a table that no longer exists."""
    return TableVanished(
        f"{dataset.address} was dropped by the job that had created it, because that job failed",
        hint="another attempt creates the table anew",
    )


def creation_lease(writer: Writer, dataset: Dataset, listener: Listener) -> AbstractContextManager[None]:
    """The lease for creating a table, for adding columns to it, and for dropping it while it has no rows."""
    progress = spark_progress(writer.session)
    return table_lease(writer.store, dataset.target, writer.owner, listener, progress, "creation")


def open_on_new_table(
    writer: Writer, intent: Intent, dataset: Dataset, listener: Listener, is_there: Callable[[], bool]
) -> Entry:
    """Open a write on a table without rows; raises TableVanished if the table no longer exists."""
    entry = writer.open(intent)
    await_release(writer.store, dataset.target, listener, "creation")
    if is_there():
        return entry
    error = vanished(dataset)
    if entry.state == "open":  # the next attempt opens it for the new table
        writer.ledger.abandon(entry, reason(error))
        writer.ledger.forget([intent.buffer])
    raise error


@contextmanager
def dropped_on_failure(dataset: Dataset, listener: Listener, drop: Callable[[Exception], None]) -> Iterator[None]:
    """Drop a table that was just created if its first write fails; `drop` checks whether others have used it."""
    try:
        yield
    except Exception as failure:
        try:
            drop(failure)
        except CatchmentError as error:  # the first error is the one to report
            _warn(listener, dataset, error.message)
        except JVM_ERRORS as error:
            _warn(listener, dataset, first_cause(error).message)
        raise


def _warn(listener: Listener, dataset: Dataset, why: str) -> None:
    listener.warn(f"{dataset.address} was created for this write, and could not be dropped again: {why}")
