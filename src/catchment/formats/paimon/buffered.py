"""Buffered writes: rows become files of the table and are sealed; the holder of the table's lease publishes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from pyspark.sql import SparkSession

from catchment.commit import own_commit
from catchment.commit.listener import Listener
from catchment.commit.publisher import Check, Outcome, Publisher
from catchment.commit.writer import Writer
from catchment.formats.model import Write
from catchment.formats.paimon.consolidate import consolidate
from catchment.formats.paimon.java import commits
from catchment.formats.paimon.new_tables import is_there
from catchment.formats.paimon.snapshot_files import CHANGE_ROWS
from catchment.formats.paimon.snapshots import History
from catchment.formats.paimon.table import BRANCH, NO_TABLE, Table, require_table
from catchment.formats.unused_tables import open_on_new_table
from catchment.plan.model import Dataset
from catchment.store.ledger import Ledger
from catchment.store.writes import Base, Contents, Entry, Intent

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
    """The same, once it is this engine's turn to write; sealed writes of lost engines are published first."""
    return writer.admitted(dataset.target, partial(_destination, writer, dataset), listener, place=table.location)


def put(
    publisher: Publisher[TableDestination],
    table: Table,
    fill: Callable[[], Contents],
    write: Write,
    writer: Writer,
    listener: Listener,
) -> Entry:
    """Let `fill` write the files, and publish them; calls with the same write id do so only once."""
    now = table.base()
    intent = _intent(table, now, write, writer.owner)
    if now.snapshot_id is None:
        dataset = write.output.dataset
        open_on_new_table(writer, intent, dataset, listener, lambda: is_there(table, dataset))
    writer.seal_once(intent, fill, listener)
    return publisher.publish(write.id, listener.warn)


def _intent(table: Table, now: Base, write: Write, owner: str) -> Intent:
    output, name = write.output, own_commit.attempt_name(write.id)
    return Intent(
        *(write.id, write.workflow, output.dataset.target, BRANCH, output.mode, output.conflict, owner, name),
        base=_base(now, write),
        dataset=asdict(output.dataset),
        inputs=write.inputs,
        window=write.window,
        place=table.location,
    )


def _base(now: Base, write: Write) -> Base:
    """The state that the write began from: the state when the job began, if later changes count as conflicts."""
    since = write.since
    if since is None or write.output.mode in CHANGE_ROWS:
        return now
    return replace(now, sequence=0, snapshot_id=None) if since == NO_TABLE else since


def _destination(writer: Writer, dataset: Dataset) -> TableDestination:
    # Use the engine's session, because the publisher outlives the job and its session.
    return TableDestination(writer.session, dataset, writer.ledger, History(writer.session))
