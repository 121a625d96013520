"""Publishes the sealed writes of one Paimon table: consecutive appends share a snapshot, other writes have their own.

A commit is one compare-and-swap on the snapshot in which the write ids were looked up (see `Commits.java`). "The write
is not in the history" and "now it is" are therefore one atomic step, even if another process consolidates at the same
time. If a swap fails or its answer is lost, the next check of the history decides what has been published.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from catchment.commit import faults
from catchment.commit.publisher import Check, Outcome
from catchment.commit.set_aside import UNREADABLE
from catchment.errors import CatchmentError, StorageUnavailable
from catchment.formats.backoff import attempts
from catchment.formats.blame import are_to_blame
from catchment.formats.descriptor_memory import check_memory
from catchment.formats.paimon import commit_errors, sealed_messages
from catchment.formats.paimon.java import commits, has_moved
from catchment.formats.paimon.snapshot_files import CHANGE_ROWS, FENCE, Snapshot
from catchment.formats.paimon.snapshots import History, user_of
from catchment.formats.paimon.table import CROSS_PARTITION, Table
from catchment.formats.publish_errors import fate_unknown, overtaken
from catchment.jvm.causes import JVM_ERRORS
from catchment.run_model import began_millis
from catchment.store.ledger import Ledger
from catchment.store.writes import Entry

PATIENCE_SECONDS = 300.0
SHORTEST_PAUSE_SECONDS = 0.01
SEE_ALL = frozenset({"overwrite", "merge"})
"""Modes of writes that depend on all rows of the table, or replace them."""
CLOCKS_APART_MS = 3_600_000
"""How far the clocks of the machine that began a run and of one that commits may differ."""


class _NotCommitted(Exception):
    """Paimon did not commit some writes, or did not confirm that it did."""

    def __init__(self, writes: Sequence[Entry], error: Exception) -> None:
        self.writes, self.error = writes, error


@dataclass
class Consolidation:
    """One batch of sealed writes on its way into a table."""

    table: Table
    """For commits only: it neither compacts nor expires."""
    history: History
    batch: Sequence[Entry]
    ledger: Ledger
    outcome: Outcome
    check: Check
    alone: bool = False
    """Whether each write is published by itself, because one of them makes the others fail."""

    def attempt(self) -> bool:
        """Check the history, then try one commit with writes that are not in it; True if none is left."""
        self.check()
        if not self.outcome.left(self.batch):
            return True
        newest = self._look(self.outcome.left(self.batch))
        fitting = self._fitting(newest)
        if fitting:
            try:
                self._publish(self._group(fitting), newest)
            except _NotCommitted as failed:
                self._after(failed)
        return not self.outcome.left(self.batch)

    def _look(self, writes: Sequence[Entry]) -> Snapshot | None:
        """The newest snapshot; writes that are in the history up to it are committed."""
        newest = self.table.newest()
        after = min(write.intent.base.sequence for write in writes)
        # A base shows only when the last attempt began. A metastore that has lost its tail knows of no earlier one.
        since = min(began_millis(write.write_id) for write in writes) - CLOCKS_APART_MS
        self.history.follow(self.table.java, newest, after, since)
        if self.history.newest_seal(self.ledger.metastore) >= min(write.number or 0 for write in writes):
            self._catch_up(writes, newest)
        found = self.history.find([write.write_id for write in writes])
        self.outcome.committed.update({write_id: snapshot.id for write_id, snapshot in found.items()})
        return newest

    def _catch_up(self, writes: Sequence[Entry], newest: Snapshot | None) -> None:
        """The table has later seals than these: another process published them, or the ledger has lost its tail."""
        found = self.history.find([write.write_id for write in writes])
        last = self.history.newest_seal(self.ledger.metastore)
        if len(found) == len(writes) and last == max(write.number or 0 for write in writes):
            return  # they were published by a commit whose answer was lost
        self.history.follow(self.table.java, newest, 0, 0)
        intent, published = writes[0].intent, self.history.published(self.ledger.metastore)
        learned = self.ledger.learn(intent.target, intent.dataset, published)
        self.outcome.learned = (*self.outcome.learned, *learned)

    def _fitting(self, newest: Snapshot | None) -> list[Entry]:
        """The writes that are left and can be published now."""
        for write in self.outcome.left(self.batch):
            try:
                check_memory(self.table.spark, [write])
                why = self._refusal(write, newest)
            except UNREADABLE as error:
                self._set_aside(write, error)
                continue
            except JVM_ERRORS as error:
                if commit_errors.may_pass(error) or not are_to_blame([write], error):
                    raise
                self._set_aside(write, error)
                continue
            if why is not None and self._is_out(write):
                self.outcome.refused[write.write_id] = why
        return self.outcome.left(self.batch)

    def _refusal(self, write: Entry, newest: Snapshot | None) -> CatchmentError | None:
        """Why a write can never be published; None if it can."""
        if (why := sealed_messages.refusal(write, self.table)) is not None:
            return why
        if write.tried and self._has_expired(write):
            if self._is_live(write):
                self.outcome.committed[write.write_id] = None
                return None
            return fate_unknown(write)
        if self.table.is_unguarded:
            rival = self.history.rival(write.intent.base.sequence, self.ledger.metastore)
            if rival is not None:
                return commit_errors.unguarded(write, rival)
        if write.intent.mode in CHANGE_ROWS and self._changed_since(write, newest):
            return commit_errors.rows_changed(write)
        if _validates(write) and self._changed_since(write, newest):
            return overtaken(write)
        if self.table.takes_turns and self._changed_since(write, newest):
            return commit_errors.buckets_changed(write)
        return sealed_messages.vanished(self.table, write)

    def _has_expired(self, write: Entry) -> bool:
        """Whether snapshots have expired that may have held the write."""
        earliest = self.table.java.snapshotManager().earliestSnapshotId()
        return earliest is not None and int(earliest) > write.intent.base.sequence + 1

    def _is_live(self, write: Entry) -> bool:
        messages = sealed_messages.messages_of(self.table.spark, [write])
        return bool(commits(self.table.spark).live(self.table.java, messages))

    def _changed_since(self, write: Entry, newest: Snapshot | None) -> bool:
        """Whether others changed rows in the write's partitions since its job began."""
        if newest is None:
            return False
        messages = sealed_messages.messages_of(self.table.spark, [write])
        anywhere = write.intent.mode in SEE_ALL or self.table.bucket_mode == CROSS_PARTITION
        span = write.intent.base.sequence, newest.id
        return bool(commits(self.table.spark).changed(self.table.java, *span, messages, anywhere))

    def _group(self, writes: Sequence[Entry]) -> list[Entry]:
        """The first writes that can share a snapshot."""
        numbered = enumerate(writes)
        apart = self.alone or self.table.takes_turns
        _, group = next(
            itertools.groupby(numbered, key=lambda n: n[0] if apart or n[1].intent.mode != "append" else "append")
        )
        return [write for _, write in group]

    def _publish(self, writes: Sequence[Entry], newest: Snapshot | None) -> None:
        try:
            check_memory(self.table.spark, writes)
            messages = sealed_messages.messages_of(self.table.spark, writes)
        except (*UNREADABLE, *JVM_ERRORS) as error:
            raise _NotCommitted(writes, error) from error
        self.check()
        self.ledger.mark_tried([self.outcome.as_in_ledger(write) for write in writes])
        faults.point("before-swap")
        ids = {write.write_id for write in writes}
        doubtful = ids - self.outcome.unsure
        self.outcome.sent.update(ids)
        self.outcome.unsure.update(doubtful)  # before it is sent: whatever goes wrong from now on, it may be applied
        try:
            made = self._commit(writes, messages, newest)
            faults.point("swap-applied")
        except faults.AnswerLost:
            return
        except JVM_ERRORS as error:
            if not has_moved(error):
                raise _NotCommitted(writes, error) from error
            # This refusal says nothing about an earlier commit of the same writes.
            self.outcome.unsure.difference_update(doubtful)
            return
        if self._stayed(made, writes):
            self.outcome.unsure.difference_update(doubtful)
            self.outcome.committed.update(dict.fromkeys(ids, made))
            if not self.table.is_unguarded:
                self.history.add_own(made, [write.write_id for write in writes])

    def _commit(self, writes: Sequence[Entry], messages: object, newest: Snapshot | None) -> int:
        user, seal = user_of(writes, self.ledger.metastore), max(write.number or 0 for write in writes)
        base = (newest.id, newest.manifests) if newest else (0, None)
        return int(
            commits(self.table.spark).commit(self.table.java, user, seal, messages, writes[0].intent.mode, *base)
        )

    def _stayed(self, made: int, writes: Sequence[Entry]) -> bool:
        """Whether the snapshot is ours: where the store accepts two snapshots with one number, the later one wins."""
        if self.table.refuses_second_snapshot:
            return True
        text = self.table.java.snapshotManager().snapshot(made).toJson()
        return Snapshot.of(str(text)).write_ids == tuple(write.write_id for write in writes)

    def _after(self, failed: _NotCommitted) -> None:
        """Decide what a failure means; raises if the next commit would fail in the same way."""
        if isinstance(failed.error, JVM_ERRORS):
            if commit_errors.may_pass(failed.error):
                return
            if not are_to_blame(failed.writes, failed.error):
                raise failed.error
        if len(failed.writes) > 1:
            self.alone = True  # one of them is to blame; the others must not wait for it
            return
        [write] = failed.writes
        self._set_aside(write, failed.error)

    def _set_aside(self, write: Entry, error: Exception) -> None:
        # A user may drop it later, which removes its files, so no commit may still be able to publish them.
        if self._is_out(write):
            self.outcome.set_aside[write.write_id] = commit_errors.unpublishable(write, error)

    def _is_out(self, write: Entry) -> bool:
        """Whether a write is not in the table, and no commit that is still under way can put it there."""
        tried = write.tried or write.write_id in self.outcome.unsure
        if tried and write.intent.base.table_uuid == self.table.id:
            self._fence()
            self._look([write])
        return write.write_id not in self.outcome.committed

    def _fence(self) -> None:
        """Commit a snapshot without changes, so that no commit on an earlier base can succeed."""
        newest = self.table.newest()
        base = (newest.id, newest.manifests) if newest else (0, None)
        nothing = sealed_messages.messages_of(self.table.spark, [])
        try:
            commits(self.table.spark).commit(self.table.java, FENCE, 0, nothing, "fence", *base)
        except JVM_ERRORS as error:
            # A commit by others has the same effect. Any other failure leaves a commit under way that may succeed.
            if not has_moved(error):
                raise


def _validates(write: Entry) -> bool:
    """Whether the write must not replace what others have committed since its job began."""
    return write.intent.mode.startswith("overwrite") and write.intent.conflict != "last-wins"


def _changes_nothing(write: Entry) -> bool:
    # Uses the file count, because the descriptors may be unreadable: a write that is in the history needs none.
    return write.intent.mode != "overwrite" and not (write.contents and write.contents.files)


def consolidate(table: Table, history: History, batch: Sequence[Entry], ledger: Ledger, check: Check) -> Outcome:
    """Publish a batch of sealed writes in order; returns when the outcome of each one is known."""
    nothing: dict[str, int | None] = {write.write_id: None for write in batch if _changes_nothing(write)}
    work = Consolidation(table, history, batch, ledger, Outcome(nothing), check)
    for _ in attempts(None, seconds=PATIENCE_SECONDS, shortest=SHORTEST_PAUSE_SECONDS):
        try:
            if work.attempt():
                return work.outcome
        except JVM_ERRORS as error:
            if not commit_errors.may_pass(error):
                raise
    raise StorageUnavailable(
        f"{batch[0].intent.target} could not be committed to for {PATIENCE_SECONDS:.0f} s",
        code="commit-contention",
        hint="the sealed writes are safe: the next writer publishes them, or `catchment recover` does",
    )
