"""Tables that a write has created: if the write fails, a table that nobody else has used is dropped again.

Whoever opens a write to a table without rows, and whoever drops one, holds the same lease meanwhile. So the one sees
the open write of the other, or the other finds that the table is gone and creates it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import CatchmentError, Retryable
from catchment.jvm.causes import JVM_ERRORS, first_cause
from catchment.plan.model import Dataset


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
    """The right to create a table, and to use or drop one that has no rows yet."""
    progress = spark_progress(writer.session)
    return table_lease(writer.store, dataset.target, writer.owner, listener, progress, "creation")


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
