"""Tables that a write has created: if the write fails, a table that nobody else has used is dropped again.

Whoever opens a write to a table without rows, and whoever drops one, holds the same lease meanwhile. So the one sees
the open write of the other, or the other finds that the table is gone and creates it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from catchment.commit.leases import table_lease
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
    if table.java.currentSnapshot() is not None:
        table.refresh()
        return writer.ledger.open(intent())
    with table_lease(writer.store, dataset.target, writer.owner, listener, spark_progress(writer.session), "creation"):
        now = catalogs.find_table(writer.session, dataset)
        if now is None or LakeTable(writer.session, now).uuid != table.uuid:
            raise TableVanished(
                f"{dataset.address} was dropped by the job that had created it, because that job failed",
                hint="another attempt creates the table anew",
            )
        table.refresh()
        return writer.ledger.open(intent())


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
