"""Iceberg tables without rows: opens writes on them, and drops them under the creation lease."""

from __future__ import annotations

from contextlib import AbstractContextManager

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.formats import unused_tables
from catchment.formats.iceberg import catalogs
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.table import LakeTable, TableState
from catchment.formats.unused_tables import creation_lease, open_on_new_table, vanished
from catchment.jvm.causes import JVM_ERRORS
from catchment.plan.model import Dataset
from catchment.store.writes import Entry, Intent


def refreshed(writer: Writer, table: LakeTable, dataset: Dataset, branch: str) -> TableState:
    """The newest state of a table; raises TableVanished if it was new and no longer exists."""
    try:
        table.refresh()
    except JVM_ERRORS as error:
        if table.java.currentSnapshot() is None and not _is_there(writer, table, dataset):
            raise vanished(dataset) from error
        raise
    return table.state(branch)


def open_write(
    writer: Writer, table: LakeTable, state: TableState, dataset: Dataset, intent: Intent, listener: Listener
) -> Entry:
    """Open a write on this state of a table; raises TableVanished if it was new and no longer exists."""
    if state.head is not None:
        return writer.open(intent)
    return open_on_new_table(writer, intent, dataset, listener, lambda: _is_there(writer, table, dataset))


def _is_there(writer: Writer, table: LakeTable, dataset: Dataset) -> bool:
    now = catalogs.find_table(writer.session, dataset)
    return now is not None and LakeTable(writer.session, now).uuid == table.uuid


def dropped_on_failure(
    writer: Writer, table: Table, dataset: Dataset, listener: Listener
) -> AbstractContextManager[None]:
    """Drop a table that was just created if its first write fails, unless others have used it."""
    created = _metadata_file(table)
    return unused_tables.dropped_on_failure(
        dataset, listener, lambda _: _drop_if_unused(writer, created, dataset, listener)
    )


def _drop_if_unused(writer: Writer, created: str, dataset: Dataset, listener: Listener) -> None:
    with creation_lease(writer, dataset, listener):
        table = catalogs.find_table(writer.session, dataset)
        # Every change of a table, of its rows or anything else, gives it another metadata file.
        if table is None or _metadata_file(table) != created:
            return
        if not writer.ledger.is_used(dataset.target, LakeTable(writer.session, table).uuid):
            catalogs.drop_table(writer.session, dataset)
            writer.forget(dataset.target)
            table.io().deleteFile(created)  # it has no other files


def _metadata_file(table: Table) -> str:
    return str(table.operations().current().metadataFileLocation())
