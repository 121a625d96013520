"""Tables that a write has created: if the write fails, a table that nobody else has used is dropped again.

Whoever drops a table without rows takes a lease first, and then looks for open writes. Whoever writes one opens the
write first, and then looks for that lease. So at least one of them sees the other: the table stays, or the writer finds
that it is gone and creates it anew. Writers do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from catchment.commit.abandonment import reason
from catchment.commit.leases import await_release, table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import CatchmentError, Retryable
from catchment.formats.iceberg import catalogs
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.table import LakeTable
from catchment.jvm.causes import JVM_ERRORS, first_cause
from catchment.plan.model import Dataset
from catchment.store.writes import Entry, Intent


class TableVanished(Retryable):
    """The table is gone: the write that had created it has failed, and nobody else had used it."""

    code = "table-vanished"


def open_write(
    writer: Writer, table: LakeTable, dataset: Dataset, intent: Callable[[], Intent], listener: Listener
) -> Entry:
    """Open a write on the newest state of a table; raises TableVanished if it was new and is there no longer."""
    is_new = table.java.currentSnapshot() is None
    try:
        table.refresh()
    except JVM_ERRORS as error:
        if is_new and not _is_there(writer, table, dataset):
            raise _vanished(dataset) from error
        raise
    entry = writer.ledger.open(intent())
    if is_new:
        await_release(writer.store, dataset.target, listener, "creation")
        if not _is_there(writer, table, dataset):
            raise _given_up(writer, entry, dataset)
    return entry


def _is_there(writer: Writer, table: LakeTable, dataset: Dataset) -> bool:
    now = catalogs.find_table(writer.session, dataset)
    return now is not None and LakeTable(writer.session, now).uuid == table.uuid


def _given_up(writer: Writer, entry: Entry, dataset: Dataset) -> TableVanished:
    """The error, after the write was closed: the next attempt opens it for the new table."""
    error = _vanished(dataset)
    if entry.state == "open":
        writer.ledger.abandon(entry, reason(error))
        writer.ledger.forget([entry.intent.buffer])
    return error


def _vanished(dataset: Dataset) -> TableVanished:
    return TableVanished(
        f"{dataset.address} was dropped by the job that had created it, because that job failed",
        hint="another attempt creates the table anew",
    )


@contextmanager
def dropped_on_failure(writer: Writer, table: Table, dataset: Dataset, listener: Listener) -> Iterator[None]:
    """Drop a table that was just created if its first write fails, unless somebody else has used it."""
    created = _metadata_file(table)
    try:
        yield
    except Exception:
        try:
            _drop_if_unused(writer, created, dataset, listener)
        except CatchmentError as error:  # the first error is the one to report
            _warn(listener, dataset, error.message)
        except JVM_ERRORS as error:
            _warn(listener, dataset, first_cause(error).message)
        raise


def _warn(listener: Listener, dataset: Dataset, why: str) -> None:
    listener.warn(f"{dataset.address} was created for this write, and could not be dropped again: {why}")


def _drop_if_unused(writer: Writer, created: str, dataset: Dataset, listener: Listener) -> None:
    with table_lease(writer.store, dataset.target, writer.owner, listener, spark_progress(writer.session), "creation"):
        table = catalogs.find_table(writer.session, dataset)
        # Whoever changes a table, its rows or anything else, gives it another metadata file.
        if table is None or _metadata_file(table) != created:
            return
        if not writer.ledger.is_used(dataset.target, LakeTable(writer.session, table).uuid):
            catalogs.drop_table(writer.session, dataset)
            writer.forget(dataset.target)
            table.io().deleteFile(created)  # it has no other files


def _metadata_file(table: Table) -> str:
    return str(table.operations().current().metadataFileLocation())
