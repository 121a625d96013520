"""Buffered appends: rows become files of the table and are sealed; the holder of the table's lease publishes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from pyspark.sql import DataFrame

from catchment.commit import own_commit
from catchment.commit.listener import Listener
from catchment.commit.publisher import Check, Outcome, Publisher
from catchment.commit.writer import Writer
from catchment.formats.delta import sealed_files
from catchment.formats.delta.group_commit import GroupCommit
from catchment.formats.delta.known_writes import KnownWrites
from catchment.formats.delta.log import BRANCH, Head, Log
from catchment.formats.model import Write
from catchment.plan.model import Dataset
from catchment.store.ledger import Ledger
from catchment.store.writes import Entry, Intent

BATCH = 256
"""The most writes in one version."""


@dataclass(frozen=True)
class TableDestination:
    """A Delta table as the destination of appends."""

    commits: GroupCommit
    ledger: Ledger
    batch: int = BATCH
    removes_buffers: bool = False

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        """Publish a batch. Where the store refuses a second commit of a version, a lost lease does no harm."""

        def tried(writes: Sequence[Entry]) -> None:
            check()  # before every commit, to show that a batch that takes long still makes progress
            self.ledger.mark_tried(writes)

        return self.commits.consolidate(batch, tried)

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        """Let the ledger forget them: their files are among those of the table, and Delta's VACUUM removes them."""
        return tuple(buffers)


def publisher_of(writer: Writer, dataset: Dataset, log: Log) -> Publisher[TableDestination]:
    """The publisher of the sealed appends of a table."""
    return writer.publisher(dataset.target, partial(_destination, writer, log), place=log.path)


def publish_sealed(writer: Writer, dataset: Dataset, log: Log) -> None:
    """Publish sealed writes, unless another process is doing so."""
    if writer.ledger.count_pending(dataset.target):
        publisher_of(writer, dataset, log).consolidate()


def append(
    log: Log,
    head: Head,
    frame: DataFrame,
    write: Write,
    options: Mapping[str, str],
    writer: Writer,
    listener: Listener,
) -> Entry:
    """Append the rows; calls with the same write id append them only once."""
    target = write.output.dataset.target
    publisher = writer.admitted(target, partial(_destination, writer, log), listener, place=log.path)
    intent = _intent(log, head, write, writer.owner)
    writer.seal_once(intent, lambda: sealed_files.fill(log, head, frame, options), listener)
    return publisher.publish(write.id, listener.warn)


def _intent(log: Log, head: Head, write: Write, owner: str) -> Intent:
    output, name = write.output, own_commit.attempt_name(write.id)
    return Intent(
        *(write.id, write.workflow, output.dataset.target, BRANCH, output.mode, output.conflict, owner, name),
        base=head.base,
        dataset=asdict(output.dataset),
        inputs=write.inputs,
        window=write.window,
        place=log.path,
    )


def _destination(writer: Writer, log: Log) -> TableDestination:
    # Use the engine's session, because the publisher outlives the job and its session.
    shared = Log(writer.session, log.path)
    return TableDestination(GroupCommit(shared, KnownWrites(shared)), writer.ledger)
