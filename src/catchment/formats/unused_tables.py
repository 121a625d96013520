"""Tables that a write has created: if the write fails, a table that nobody else has used is dropped again.

Whoever drops a table without rows takes a lease first, and then looks for open writes. Whoever writes one opens the
write first, and then looks for that lease. So at least one of them sees the other: the table stays, or the writer finds
that it is gone and creates it anew. Writers do not wait for each other.
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
    """The table is gone: the write that had created it has failed, and nobody else had used it."""

    code = "table-vanished"


def vanished(dataset: Dataset) -> TableVanished:
    """The error of a write to a table that is there no longer."""
    return TableVanished(
        f"{dataset.address} was dropped by the job that had created it, because that job failed",
        hint="another attempt creates the table anew",
    )


def creation_lease(writer: Writer, dataset: Dataset, listener: Listener) -> AbstractContextManager[None]:
    """The right to create a table, to give it columns, and to drop one that has no rows yet."""
    progress = spark_progress(writer.session)
    return table_lease(writer.store, dataset.target, writer.owner, listener, progress, "creation")


def open_on_new_table(
    writer: Writer, intent: Intent, dataset: Dataset, listener: Listener, is_there: Callable[[], bool]
) -> Entry:
    """Open a write on a table without rows; raises TableVanished if it is there no longer."""
    entry = writer.ledger.open(intent)
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
    """Drop a table that was just created if its first write fails; `drop` looks whether somebody else has used it."""
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
