"""Buffered writes: rows become files of the table and are sealed; the holder of the table's lease publishes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import own_commit
from catchment.commit.listener import Listener
from catchment.commit.publisher import Check, Outcome, Publisher
from catchment.commit.writer import Writer
from catchment.formats.model import Write
from catchment.formats.paimon import sealed_messages
from catchment.formats.paimon.consolidate import consolidate
from catchment.formats.paimon.java import commits
from catchment.formats.paimon.snapshots import History
from catchment.formats.paimon.table import BRANCH, NO_TABLE, Table, require_table
from catchment.plan.model import Dataset
from catchment.store.ledger import Ledger
from catchment.store.writes import Base, Entry, Intent

BATCH = 256
"""The most writes in one snapshot."""


@dataclass
class TableDestination:
    """A Paimon table as the destination of writes."""

    session: SparkSession
    dataset: Dataset
    ledger: Ledger
    history: History
    batch: int = BATCH
    removes_buffers: bool = False

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        """Publish a batch. A lost lease does no harm where the store decides between two commits."""
        table = require_table(self.session, self.dataset)
        committing = Table(self.session, commits(self.session).committing(table.java))
        return consolidate(committing, self.history, batch, self.ledger, check)

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        """Let the ledger forget them: their files are among those of the table, and removing orphans removes them."""
        return tuple(buffers)


def publisher_of(writer: Writer, dataset: Dataset, table: Table) -> Publisher[TableDestination]:
    """The publisher of the sealed writes of a table."""
    return writer.publisher(dataset.target, partial(_destination, writer, dataset), place=table.location)


def admitted(writer: Writer, dataset: Dataset, table: Table, listener: Listener) -> Publisher[TableDestination]:
    """The same, once it is this engine's turn to write; what lost engines have left is published first."""
    return writer.admitted(dataset.target, partial(_destination, writer, dataset), listener, place=table.location)


def put(
    publisher: Publisher[TableDestination],
    table: Table,
    frame: DataFrame,
    write: Write,
    writer: Writer,
    listener: Listener,
) -> Entry:
    """Write the rows; calls with the same write id write them only once."""
    intent = _intent(table, write, writer.owner)
    writer.seal_once(intent, lambda: sealed_messages.fill(table, frame), listener)
    return publisher.publish(write.id, listener.warn)


def _intent(table: Table, write: Write, owner: str) -> Intent:
    output, name = write.output, own_commit.attempt_name(write.id)
    return Intent(
        *(write.id, write.workflow, output.dataset.target, BRANCH, output.mode, output.conflict, owner, name),
        base=_base(table, write),
        dataset=asdict(output.dataset),
        inputs=write.inputs,
        window=write.window,
        place=table.location,
    )


def _base(table: Table, write: Write) -> Base:
    """The state that the write began from: that of the job's begin, if later changes count as conflicts."""
    now, since = table.base(), write.since
    if since is None:
        return now
    return replace(now, sequence=0, snapshot_id=None) if since == NO_TABLE else since


def _destination(writer: Writer, dataset: Dataset) -> TableDestination:
    # With the engine's session: the publisher is used after the job, whose own session ends.
    return TableDestination(writer.session, dataset, writer.ledger, History(writer.session))
