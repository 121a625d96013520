"""Publishes the sealed buffers of one table in one transaction and one compare-and-swap.

Consecutive appends become one fast append, which reads nothing from the store; each overwrite is a snapshot of its own.
The swap replaces exactly the metadata whose history was checked. "The write is not in the history" and "now it is" are
therefore one atomic step, even if another process consolidates at the same time. If a swap fails or its answer is lost,
the next check of the history decides what has been published.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from catchment.commit import faults
from catchment.commit.publisher import Check, Outcome
from catchment.commit.set_aside import UNREADABLE
from catchment.errors import CatchmentError, StorageUnavailable
from catchment.formats.backoff import attempts
from catchment.formats.blame import are_to_blame
from catchment.formats.descriptor_memory import check_memory
from catchment.formats.iceberg.bulk import add_files
from catchment.formats.iceberg.commit_errors import is_a, is_transient, unpublishable
from catchment.formats.iceberg.conflicts import Fit, anything_changed, partitions_changed, was_compacted
from catchment.formats.iceberg.fence import fence, table_is_same
from catchment.formats.iceberg.table import LakeTable, TableMoved
from catchment.formats.iceberg.write_index import WHOLE, Since, WriteIndex
from catchment.formats.publish_errors import fate_unknown, overtaken
from catchment.formats.stamps import JOB, METASTORE, RUN, SEALS, WORKFLOW, WRITE_ROWS, WRITES, windows_stamp
from catchment.jvm.causes import JVM_ERRORS
from catchment.run_model import began_millis
from catchment.store.descriptors import Lines, lines_of
from catchment.store.ledger import Ledger
from catchment.store.writes import Base, Entry

PATIENCE_SECONDS = 300.0
SHORTEST_PAUSE_SECONDS = 0.01
MERGE_MANIFESTS_AT = 100
"""With more manifests than this, an append merges them, as Iceberg does by default, to keep query planning fast."""


class _Refused(Exception):
    """This write can never be published."""

    def __init__(self, write: Entry, why: CatchmentError) -> None:
        self.write, self.why = write, why


class _Unusable(Exception):
    """These writes could not be prepared. If there are several, it is not known which one is to blame."""

    def __init__(self, writes: Sequence[Entry], error: Exception) -> None:
        self.writes, self.error = writes, error


@dataclass
class Consolidation:
    """One batch of sealed writes on its way into a table."""

    table: LakeTable
    batch: Sequence[Entry]
    ledger: Ledger
    outcome: Outcome
    check: Check
    alone: bool = False
    """Whether each write is published by itself, because one of them makes the others fail."""

    def step(self) -> bool:
        """Check the history, then try one swap with the writes that are not in it; True if none is left."""
        if self.outcome.left(self.batch):
            self.table.refresh()
            self.outcome.committed.update(self._in_history(self.outcome.left(self.batch)))
        left = self.outcome.left(self.batch)[: 1 if self.alone else None]
        if left:
            self._publish(left)
        return not self.outcome.left(self.batch)

    def attempt(self) -> bool:
        """Take one step; a write that cannot be published leaves the batch. True if none is left."""
        self.check()
        try:
            return self.step()
        except TableMoved:
            return False
        except _Refused as refused:
            self._refuse(refused.write, refused.why)
        except _Unusable as spoilt:
            self._set_aside(spoilt)
        return not self.outcome.left(self.batch)

    def _refuse(self, write: Entry, why: CatchmentError) -> None:
        if self._is_out(write):
            self.outcome.refused[write.write_id] = why

    def _set_aside(self, spoilt: _Unusable) -> None:
        """Take the write that is to blame out of the queue; if that is not known yet, find out one by one."""
        if isinstance(spoilt.error, JVM_ERRORS) and not are_to_blame(spoilt.writes, spoilt.error):
            raise spoilt.error
        if len(spoilt.writes) > 1:
            self.alone = True
            return
        [write] = spoilt.writes
        # A user may drop it later, which removes its files, so no swap may still be able to publish them.
        if self._is_out(write):
            self.outcome.set_aside[write.write_id] = unpublishable(write, spoilt.error)

    def _is_out(self, write: Entry) -> bool:
        """Whether a write is not in the table, and no swap that is still under way can put it there."""
        if write.tried and table_is_same(self.table, write):
            fence(self.table, write.intent.branch, write.write_id)
            self.table.refresh()
            self.outcome.committed.update(self._in_history([write]))
        return write.write_id not in self.outcome.committed

    def _publish(self, left: Sequence[Entry]) -> None:
        staged = _staged(self.table, left, self.ledger.metastore, self.check)
        try:
            self.ledger.mark_tried([self.outcome.as_in_ledger(write) for write in left])
        except Exception:
            _discard(self.table, staged)
            raise
        faults.point("before-swap")
        ids = {write.write_id for write in left}
        doubtful = ids - self.outcome.unsure
        self.outcome.sent.update(ids)
        self.outcome.unsure.update(doubtful)  # before it is sent: whatever goes wrong from now on, it may be applied
        published = swap(self.table, staged)
        if published is not None:
            # This success says nothing about an earlier swap of the same writes.
            self.outcome.unsure.difference_update(doubtful)
            self.outcome.committed.update(published)

    def _in_history(self, writes: Sequence[Entry]) -> dict[str, int | None]:
        index = self.table.look_back(_since(writes))
        if index.newest_seal(self.ledger.metastore) >= min(write.number or 0 for write in writes):
            self._catch_up(index, writes)
        live = [w.write_id for w in writes if _history_expired(self.table, w) and _is_live(self.table, w)]
        return {**dict.fromkeys(live), **index.find([write.write_id for write in writes])}

    def _catch_up(self, index: WriteIndex, writes: Sequence[Entry]) -> None:
        """The table has later seals than these: another process published them, or the ledger has lost its tail."""
        found = index.find([write.write_id for write in writes])
        newest = index.newest_seal(self.ledger.metastore)
        if len(found) == len(writes) and newest == max(write.number or 0 for write in writes):
            return  # they were published by a swap whose answer was lost
        published = self.table.look_back(WHOLE).published(self.ledger.metastore)
        intent = writes[0].intent
        self.outcome.learned = (
            *self.outcome.learned,
            *self.ledger.learn(intent.target, intent.dataset, published),
        )


def consolidate(table: LakeTable, batch: Sequence[Entry], ledger: Ledger, check: Check) -> Outcome:
    """Publish a batch of sealed writes in order; returns when the outcome of each one is known.

    The ledger records durably that a swap with these writes is about to be sent; it raises if another consolidator has
    taken them over. The lease is checked along the way, which also shows progress: a batch may take long.
    """
    nothing: dict[str, int | None] = {write.write_id: None for write in batch if _changes_nothing(write)}
    work = Consolidation(table, batch, ledger, Outcome(nothing), check)
    for _ in attempts(None, seconds=PATIENCE_SECONDS, shortest=SHORTEST_PAUSE_SECONDS):
        try:
            if work.attempt():
                return work.outcome
        except JVM_ERRORS as error:
            if not is_transient(error) or table.lacks_file(error):
                raise
    raise StorageUnavailable(
        f"{batch[0].intent.target} could not be committed to for {PATIENCE_SECONDS:.0f} s",
        code="commit-contention",
        hint="the sealed writes are safe: the next writer publishes them, or `catchment recover` does",
    )


CLOCKS_APART_MS = 3_600_000
"""How far the clocks of the machine that began a run and of one that commits may differ."""


def _since(writes: Sequence[Entry]) -> Since:
    """Where to start looking for writes: at their bases, or at the beginning of their runs if that is earlier.

    A base shows only when the last attempt began. A metastore that has lost its tail does not know of earlier ones.
    """
    sequence = min(write.intent.base.sequence for write in writes)
    return Since(sequence, min(began_millis(write.write_id) for write in writes) - CLOCKS_APART_MS)


def _changes_nothing(write: Entry) -> bool:
    # Uses the file count, because the descriptors may be unreadable: a write that is in the history needs none.
    return write.intent.mode != "overwrite" and not (write.contents and write.contents.files)


def _staged(table: LakeTable, writes: Sequence[Entry], metastore: str, check: Check) -> Any:
    """A transaction with the writes, not visible yet."""
    fits = Fit(table)
    for write in writes:
        try:
            check_memory(table.session, [write])
            why = fate_unknown(write) if _history_expired(table, write) else fits.refusal(write)
        except UNREADABLE as error:
            raise _Unusable([write], error) from error
        if why is not None:
            raise _Refused(write, why)
    transaction = table.transaction()
    try:
        for group in _groups(writes):
            check()
            _stage(table, transaction, group, metastore)
    except Exception:
        _discard(table, transaction)
        raise
    faults.point("manifest-list-written")
    return transaction


def _groups(writes: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Group consecutive appends to one branch; each overwrite is a group of its own."""
    numbered = enumerate(writes)
    for _, group in itertools.groupby(
        numbered, key=lambda n: (n[1].intent.branch, "append" if n[1].intent.mode == "append" else n[0])
    ):
        yield [write for _, write in group]


def _stage(table: LakeTable, transaction: Any, group: list[Entry], metastore: str) -> None:
    try:
        check_memory(table.session, group)
        operation = _operation(table, transaction, group[0])
        files = Lines(tuple(line for write in group for line in lines_of(descriptors_of(write))))
    except UNREADABLE as error:
        raise _Unusable(group, error) from error
    except JVM_ERRORS as error:
        if is_transient(error):
            raise
        raise _Unusable(group, error) from error
    try:
        add_files(table.session, operation, files, table.java)
    except JVM_ERRORS as error:  # no request was sent to the store yet
        raise _Unusable(group, error) from error
    try:
        table.tables.stage(operation, group[0].intent.branch, json.dumps(_summary(group, metastore)))
    except JVM_ERRORS as error:
        if is_a(error, "ValidationException") and _validates(group[0]):
            raise _Refused(group[0], overtaken(group[0])) from error
        if is_transient(error):
            raise
        raise _Unusable(group, error) from error


def descriptors_of(write: Entry) -> Sequence[Mapping[str, Any]]:
    """The files of a write."""
    return write.contents.descriptors if write.contents else ()


def _validates(write: Entry) -> bool:
    """Whether the write must not replace what others have committed since its job began."""
    return write.intent.mode != "append" and write.intent.conflict != "last-wins"


def _operation(table: LakeTable, transaction: Any, write: Entry) -> Any:
    """An operation of a transaction, without files yet."""
    if write.intent.mode == "append":
        return table.tables.append(transaction, table.java, write.intent.branch, MERGE_MANIFESTS_AT)
    if write.intent.mode == "overwrite":
        if _validates(write) and anything_changed(transaction.table(), write):
            raise _Refused(write, overtaken(write))
        everything = table.jvm.iceberg("expressions.Expressions").alwaysTrue()
        return transaction.newOverwrite().overwriteByRowFilter(everything)
    replacing = transaction.newReplacePartitions()
    if _validates(write):
        _validate(table, transaction, replacing, write)
    return replacing


def _validate(table: LakeTable, transaction: Any, replacing: Any, write: Entry) -> None:
    """Raise if others changed the partitions since the job began. The swap replaces the metadata checked here."""
    # Writes that are already in this transaction count too, because they come first.
    if was_compacted(transaction.table(), write):
        if partitions_changed(table, transaction.table(), write):
            raise _Refused(write, overtaken(write))
        return
    if write.intent.base.snapshot_id is not None:
        replacing.validateFromSnapshot(write.intent.base.snapshot_id)
    replacing.validateNoConflictingData()
    replacing.validateNoConflictingDeletes()


def _summary(group: list[Entry], metastore: str) -> dict[str, str]:
    runs, jobs = zip(*(write.write_id.split("/")[:2] for write in group), strict=True)
    return {
        WRITES: ",".join(write.write_id for write in group),
        WRITE_ROWS: ",".join(str(write.contents.rows if write.contents else 0) for write in group),
        SEALS: ",".join(str(write.number) for write in group),
        METASTORE: metastore,
        WORKFLOW: ",".join(dict.fromkeys(write.intent.workflow for write in group)),
        JOB: ",".join(dict.fromkeys(jobs)),
        RUN: ",".join(dict.fromkeys(runs)),
        **windows_stamp(write.intent.window for write in group),
    }


def swap(table: LakeTable, transaction: Any) -> dict[str, int] | None:
    """One compare-and-swap, without Iceberg's blind retries; returns what it published, None if that is unknown."""
    try:
        table.tables.swap(transaction)
        faults.point("swap-applied")
    except JVM_ERRORS as error:
        if is_a(error, "CommitFailedException"):
            return _after_failure(table, transaction.startMetadata(), transaction.currentMetadata())
        if not is_transient(error):
            raise
        return None
    except faults.AnswerLost:
        return None
    added = (line.split(" ", 1) for line in table.tables.added(transaction, WRITES).split("\n")[:-1])
    return {write_id: int(snapshot_id) for snapshot_id, write_ids in added for write_id in write_ids.split(",")}


def _after_failure(table: LakeTable, start: Any, end: Any) -> dict[str, int] | None:
    """Check whether a swap that was reported as failed was applied after all, before anything is removed.

    If Iceberg's JDBC client loses its connection, it sends the swap again. If the first one was applied, the second one
    fails, and our own success is reported as another writer's.
    """
    table.refresh()
    if any(table.java.snapshot(snapshot.snapshotId()) is not None for snapshot in _added(start, end)):
        return None
    if not table.has_history_since(Base(str(start.uuid()), 0, int(start.lastSequenceNumber()), None)):
        return None  # it may have been applied, and its snapshot may have expired
    if int(start.formatVersion()) > 1:  # version 1 has no sequence numbers, so an expired snapshot would go unnoticed
        _clean(table, start, end)
    return {}


def _added(start: Any, end: Any) -> list[Any]:
    """The snapshots that a transaction adds."""
    snapshots = end.snapshots()
    return [snapshots.get(index) for index in range(start.snapshots().size(), snapshots.size())]


def _discard(table: LakeTable, transaction: Any) -> None:
    """Remove the manifests of a transaction that was never sent. What cannot be removed is a harmless orphan."""
    with suppress(*JVM_ERRORS):
        _clean(table, transaction.startMetadata(), transaction.currentMetadata())


def _clean(table: LakeTable, start: Any, end: Any) -> None:
    """Remove the manifests of a swap that certainly failed. After an unknown outcome nothing may be removed."""
    io = table.java.io()
    for snapshot in _added(start, end):
        mine = [m.path() for m in snapshot.allManifests(io) if m.snapshotId() == snapshot.snapshotId()]
        for path in (*mine, snapshot.manifestListLocation()):
            io.deleteFile(path)


def _history_expired(table: LakeTable, write: Entry) -> bool:
    """Whether a swap with this write had an unknown outcome and the history that would show it has expired."""
    return write.tried and not table.has_history_since(write.intent.base)


def _is_live(table: LakeTable, write: Entry) -> bool:
    return table.refers_to(write.intent.buffer, write.intent.branch)
