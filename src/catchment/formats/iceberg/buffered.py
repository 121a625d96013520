"""Buffered writes: rows are written to a fork and sealed; the holder of the table's lease publishes them."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.listener import Listener
from catchment.commit.publisher import Check, Outcome, Publisher
from catchment.commit.writer import Writer
from catchment.errors import CatchmentError, MetastoreUnavailable
from catchment.formats.failures import from_spark
from catchment.formats.iceberg import buffer
from catchment.formats.iceberg.catalogs import branch_of, require_table
from catchment.formats.iceberg.conflicts import branch_refusal
from catchment.formats.iceberg.consolidate import consolidate
from catchment.formats.iceberg.new_tables import open_write, refreshed
from catchment.formats.iceberg.table import LakeTable, TableState
from catchment.formats.model import Write
from catchment.plan.model import Dataset
from catchment.store.ledger import Ledger
from catchment.store.writes import Contents, Entry, Intent

BATCH = 256
"""The most writes in one commit."""


@dataclass
class TableDestination:
    """An Iceberg table as the destination of writes."""

    session: SparkSession
    dataset: Dataset
    ledger: Ledger
    batch: int = BATCH
    removes_buffers: bool = False
    _table: LakeTable | None = None
    _uuid: str = ""
    _newer: LakeTable | None = None
    """The table as a writer has loaded it since."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def table(self) -> LakeTable:
        """The table object of consolidations, with the history that they have read."""
        with self._lock:
            if self._table is None:
                # The id is stored now, because it can no longer be read once the table has been dropped.
                self._table = LakeTable(self.session, require_table(self.session, self.dataset))
                self._uuid = self._table.uuid
            return self._table

    def adopt(self, table: LakeTable, uuid: str) -> None:
        """Reuse the table object of a writer that has finished, so that its metadata need not be read again."""
        with self._lock:
            if self._table is None:
                self._table, self._uuid = table, uuid
            elif self._uuid == uuid:
                self._newer = table

    def is_of(self, uuid: str) -> bool:
        """Whether this is the table with this id; it may have been dropped and created again since."""
        with self._lock:
            return self._table is None or self._uuid == uuid

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        """Publish a batch. A lost lease does no harm: between two consolidators the swap decides."""
        table = self.table
        with self._lock:
            if self._newer is not None:
                table.java, self._newer = self._newer.java, None
        table.writes.forget_old()
        return consolidate(table, batch, self.ledger, check)

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        """Remove nothing: only the table's history says whether a file is in use."""
        return ()


def publisher_of(writer: Writer, dataset: Dataset) -> Publisher[TableDestination]:
    """The publisher of the sealed writes of a table."""
    return writer.publisher(dataset.target, partial(_destination, writer, dataset))


def seal(
    writer: Writer, frame: DataFrame, table: LakeTable, write: Write, options: Mapping[str, str], listener: Listener
) -> Publisher[TableDestination]:
    """Fill a buffer and seal it, unless that was done before; returns the publisher of the table.

    From then on the table object is the publisher's: whoever refreshed it would do so in the middle of a consolidation.
    """
    dataset = write.output.dataset
    meet = partial(writer.admitted, dataset.target, partial(_destination, writer, dataset), listener)
    publisher, branch = meet(), branch_of(write.output)
    state = refreshed(writer, table, dataset, branch)
    if not publisher.destination.is_of(state.uuid):
        writer.forget(dataset.target)
        publisher = meet()
    entry = open_write(writer, table, state, dataset, _intent(write, state, branch, writer.owner), listener)
    intent = entry.intent
    buffer.check_sealable(table, state)
    fork = buffer.make(table, state, intent.buffer)

    def fill() -> Contents:
        if (refused := branch_refusal(fork.java, dataset.target, branch)) is not None:
            raise refused
        try:
            return buffer.fill(frame, fork, intent.buffer, options)
        except Exception as error:
            _discard(writer, table, intent, from_spark(error, otherwise="write-failed"))
            raise

    try:
        writer.seal_opened(entry, fill, listener)
    finally:
        fork.remove()
    publisher.destination.adopt(table, state.uuid)
    return publisher


def _discard(writer: Writer, table: LakeTable, intent: Intent, error: CatchmentError) -> None:
    """Remove the files of a failed attempt, which can no longer be sealed, and close the write."""
    buffer.discard(table, intent.buffer)  # first: the disk may be full, and the metastore on the same disk
    if writer.close_failed(intent.write_id, error):
        with suppress(MetastoreUnavailable):  # the first error is the one to report
            writer.ledger.forget([intent.buffer])


def _intent(write: Write, state: TableState, branch: str, owner: str) -> Intent:
    # Each attempt has its own directory: two attempts at one write must never share one.
    name = f"{write.id.replace('/', '.')}.{uuid.uuid4().hex[:8]}"
    output, base = write.output, write.since or state.base
    return Intent(
        *(write.id, write.workflow, output.dataset.target, branch, output.mode, output.conflict, owner),
        f"{state.data_location}/{name}",
        base=base,
        dataset=asdict(output.dataset),
        inputs=write.inputs,
        window=write.window,
    )


def _destination(writer: Writer, dataset: Dataset) -> TableDestination:
    return TableDestination(writer.session, dataset, writer.ledger)
