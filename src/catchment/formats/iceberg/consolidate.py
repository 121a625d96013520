"""Publishes the sealed buffers of one table in one transaction and one compare-and-swap.

Consecutive appends become one fast append, which reads nothing from the store; each overwrite is a snapshot of its own.
The swap replaces exactly the metadata whose history was checked. "The write is not in the history" and "now it is" are
therefore one atomic step, even if another process consolidates at the same time. If a swap fails or its answer is lost,
the next check of the history decides what has been published.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JJavaError

from catchment.commit import faults
from catchment.commit.publisher import Outcome
from catchment.errors import CatchmentError, CommitConflict, JobError, StorageUnavailable
from catchment.formats.backoff import attempts
from catchment.formats.iceberg.conflicts import partitions_changed, refusal, was_compacted
from catchment.formats.iceberg.table import MAIN, WRITE_IDS, LakeTable
from catchment.store.writes import FATE_UNKNOWN, Base, Entry

PATIENCE_SECONDS = 300.0
SHORTEST_PAUSE_SECONDS = 0.01
MERGE_MANIFESTS_AT = 100
"""With more manifests than this, an append merges them, as Iceberg does by default, to keep query planning fast."""
PERMANENT = frozenset(
    {
        "java.lang.IllegalStateException",
        "java.lang.NullPointerException",
        "org.apache.iceberg.exceptions.ForbiddenException",
        "org.apache.iceberg.exceptions.NoSuchTableException",
        "org.apache.iceberg.exceptions.NotAuthorizedException",
        "org.apache.iceberg.exceptions.ValidationException",
    }
)


class _Refused(Exception):
    def __init__(self, write: Entry, why: CatchmentError) -> None:
        self.write, self.why = write, why


def consolidate(table: LakeTable, batch: Sequence[Entry], *, tried: Callable[[Sequence[Entry]], None]) -> Outcome:
    """Publish a batch of sealed writes in order; returns when the outcome of each one is known.

    `tried` records durably that a swap with these writes is about to be sent; it raises if another consolidator has
    taken them over.
    """
    outcome = Outcome({write.write_id: None for write in batch if _changes_nothing(write)})
    for _ in attempts(None, seconds=PATIENCE_SECONDS, shortest=SHORTEST_PAUSE_SECONDS):
        try:
            if _step(table, outcome, batch, tried):
                return outcome
        except _Refused as refused:
            outcome.refused[refused.write.write_id] = refused.why
        except Py4JJavaError as error:
            if not _is_transient(error):
                raise
    raise StorageUnavailable(
        f"{batch[0].intent.target} could not be committed to for {PATIENCE_SECONDS:.0f} s",
        code="commit-contention",
        hint="the sealed writes are safe: the next writer publishes them, or `catchment recover` does",
    )


def _step(table: LakeTable, outcome: Outcome, batch: Sequence[Entry], tried: Callable[[Sequence[Entry]], None]) -> bool:
    """Check the history, then try one swap with the writes that are not in it; True if none is left."""
    if outcome.left(batch):
        table.refresh()
        outcome.committed.update(_in_history(table, outcome.left(batch)))
    left = outcome.left(batch)
    if left:
        staged = _staged(table, left)
        try:
            tried([replace(write, tried=True) for write in left] if outcome.sent else left)
        except Exception:
            _clean(table, staged.startMetadata(), staged.currentMetadata())
            raise
        faults.point("before-swap")
        outcome.sent = True
        published = swap(table, staged)
        outcome.unsure = outcome.unsure or published is None
        outcome.committed.update(published or {})
    return not outcome.left(batch)


def _in_history(table: LakeTable, writes: Sequence[Entry]) -> dict[str, int | None]:
    since = min(write.intent.base.sequence for write in writes)
    live = [w.write_id for w in writes if _history_expired(table, w) and _is_live(table, w)]
    return {**dict.fromkeys(live), **table.published({write.write_id for write in writes}, since=since)}


def _changes_nothing(write: Entry) -> bool:
    return write.intent.mode != "overwrite" and not (write.contents and write.contents.descriptors)


def _staged(table: LakeTable, writes: Sequence[Entry]) -> Any:
    """A transaction with the writes, not visible yet."""
    for write in writes:
        why = fate_unknown(write) if _history_expired(table, write) else refusal(table, write)
        if why is not None:
            raise _Refused(write, why)
    transaction = table.java.newTransaction()
    for group in _groups(writes):
        _stage(table, transaction, group)
    faults.point("manifest-list-written")
    return transaction


def _groups(writes: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Group consecutive appends to one branch; each overwrite is a group of its own."""
    numbered = enumerate(writes)
    for _, group in itertools.groupby(
        numbered, key=lambda n: (n[1].intent.branch, "append" if n[1].intent.mode == "append" else n[0])
    ):
        yield [write for _, write in group]


def _stage(table: LakeTable, transaction: Any, group: list[Entry]) -> None:
    intent = group[0].intent
    operation = _operation(table, transaction, group[0])
    add = operation.appendFile if intent.mode == "append" else operation.addFile
    descriptors = [d for write in group if write.contents for d in write.contents.descriptors]
    for file in table.data_files(descriptors):
        add(file)
    if intent.branch != MAIN:
        operation.toBranch(intent.branch)
    for key, value in _summary(group).items():
        operation.set(key, value)
    try:
        operation.commit()
    except Py4JJavaError as error:
        if _is_a(error, "ValidationException"):
            raise _Refused(group[0], _conflict(group[0])) from error
        raise


def _operation(table: LakeTable, transaction: Any, write: Entry) -> Any:
    intent = write.intent
    if intent.mode == "append":
        if _manifests(table, intent.branch) > MERGE_MANIFESTS_AT:
            return transaction.newAppend()
        # There is only one file to write, and waiting for other threads to do it takes steps of 10 ms.
        return transaction.newFastAppend().scanManifestsWith(table.same_thread())
    if intent.mode == "overwrite":
        return transaction.newOverwrite().overwriteByRowFilter(
            table.jvm.iceberg("expressions.Expressions").alwaysTrue()
        )
    replacing = transaction.newReplacePartitions()
    if intent.conflict != "last-wins":
        _validate(table, replacing, write)
    return replacing


def _validate(table: LakeTable, replacing: Any, write: Entry) -> None:
    """Raise if others changed the partitions since the job began. The swap replaces the metadata checked here."""
    if was_compacted(table, write):
        if partitions_changed(table, write):
            raise _Refused(write, _conflict(write))
        return
    if write.intent.base.snapshot_id is not None:
        replacing.validateFromSnapshot(write.intent.base.snapshot_id)
    replacing.validateNoConflictingData()
    replacing.validateNoConflictingDeletes()


def _manifests(table: LakeTable, branch: str) -> int:
    """The number of manifests of the head, taken from its summary without a request to the store."""
    head = table.head(branch)
    summary = head.summary() if head is not None else {}
    return sum(int(summary.get(key) or 0) for key in ("manifests-created", "manifests-kept"))


def _summary(group: list[Entry]) -> dict[str, str]:
    runs, jobs = zip(*(write.write_id.split("/")[:2] for write in group), strict=True)
    return {
        WRITE_IDS: ",".join(write.write_id for write in group),
        "catchment.write-rows": ",".join(str(write.contents.rows if write.contents else 0) for write in group),
        "catchment.workflow": ",".join(dict.fromkeys(write.intent.workflow for write in group)),
        "catchment.job": ",".join(dict.fromkeys(jobs)),
        "catchment.run-id": ",".join(dict.fromkeys(runs)),
    }


def swap(table: LakeTable, transaction: Any) -> dict[str, int] | None:
    """One compare-and-swap, without Iceberg's blind retries; returns what it published, None if that is unknown."""
    start, end = transaction.startMetadata(), transaction.currentMetadata()
    try:
        transaction.underlyingOps().commit(start, end)
        faults.point("swap-applied")
    except Py4JJavaError as error:
        if _is_a(error, "CommitFailedException"):
            return _after_failure(table, start, end)
        if not _is_transient(error):
            raise
        return None
    except faults.AnswerLost:
        return None
    return {
        write_id: int(snapshot.snapshotId())
        for snapshot in _added(start, end)
        for write_id in snapshot.summary().get(WRITE_IDS).split(",")
    }


def _after_failure(table: LakeTable, start: Any, end: Any) -> dict[str, int] | None:
    """Check whether a swap that was reported as failed was applied after all, before anything is removed.

    If Iceberg's JDBC client loses its connection, it sends the swap again. If the first one was applied, the second one
    fails, and our own success is reported as another writer's.
    """
    table.refresh()
    if any(table.java.snapshot(snapshot.snapshotId()) is not None for snapshot in _added(start, end)):
        return None
    if table.has_history_since(Base(str(start.uuid()), 0, int(start.lastSequenceNumber()), None)):
        _clean(table, start, end)
    return {}


def _added(start: Any, end: Any) -> list[Any]:
    """The snapshots that a transaction adds."""
    snapshots = end.snapshots()
    return [snapshots.get(index) for index in range(start.snapshots().size(), snapshots.size())]


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


def fate_unknown(write: Entry) -> JobError:
    """The error of a write whose outcome is unknown because the history has expired."""
    return JobError(
        f"it is unknown whether {write.write_id} was committed to {write.intent.target}: its history has expired",
        code=FATE_UNKNOWN,
        hint="check for its rows and run the job again if they are missing; run recovery before you expire snapshots",
    )


def _conflict(write: Entry) -> CommitConflict:
    return CommitConflict(
        f"somebody committed to the partitions of {write.write_id} in {write.intent.target} since the job began",
        code="partitions-changed",
        hint="run the job again on the new state, or set `conflict: last-wins` on the output",
    )


def _is_transient(error: Py4JJavaError) -> bool:
    """Whether an error may pass (busy, lost connection, time-out): its outcome is unknown, but it is no refusal."""
    return str(error.java_exception.getClass().getName()) not in PERMANENT


def _is_a(error: Py4JJavaError, name: str) -> bool:
    return str(error.java_exception.getClass().getName()) == f"org.apache.iceberg.exceptions.{name}"
