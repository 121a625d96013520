"""Publishes the sealed appends of one Delta table in one version, with one transaction id for each write.

Delta commits them against exactly the version in which their ids were looked up, and refuses the commit if a later
version has one of the ids. "The write is not in the log" and "now it is" are therefore one atomic step, even if another
process commits at the same time. If a commit fails or its answer is lost, the next check of the log decides.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from catchment.commit import faults
from catchment.commit.publisher import Outcome
from catchment.commit.set_aside import UNREADABLE, set_aside_error, unreadable
from catchment.errors import JobError, StorageUnavailable
from catchment.formats.backoff import attempts
from catchment.formats.blame import are_to_blame
from catchment.formats.delta import sealed_files
from catchment.formats.delta.conflicts import kind_of
from catchment.formats.delta.known_writes import KnownWrites
from catchment.formats.delta.log import Head, Log
from catchment.formats.delta.transaction import GroupTransaction, needs_table_lease
from catchment.formats.descriptor_memory import check_memory
from catchment.formats.failures import from_spark
from catchment.formats.stamps import group_stamp
from catchment.jvm.causes import JVM_ERRORS
from catchment.store.writes import Contents, Entry

PATIENCE_SECONDS = 300.0
SHORTEST_PAUSE_SECONDS = 0.01
MAX_FILES = 5_000
"""The most files in one version, unless a single write has more."""
Tried = Callable[[Sequence[Entry]], None]


class _NotCommitted(Exception):
    """Delta did not commit some writes. Errors before the commit are about the table, and are not wrapped in this."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Overwritten(Exception):
    """Another writer has overwritten a commit, in a store that allows it."""


@dataclass
class GroupCommit:
    """Publishes batches of sealed appends of one table. Not thread-safe."""

    log: Log
    known: KnownWrites

    def consolidate(self, batch: Sequence[Entry], tried: Tried) -> Outcome:
        """Publish the writes of a batch, up to a number of files; returns when the outcome of each is known.

        `tried` records durably that a commit with these writes is about to be made; it raises if another consolidator
        has taken them over.
        """
        outcome = Outcome({write.write_id: None for write in batch if not (write.contents and write.contents.files)})
        taken, most, sent = _bounded(batch), len(batch), set[str]()
        for _ in attempts(None, seconds=PATIENCE_SECONDS, shortest=SHORTEST_PAUSE_SECONDS):
            try:
                if self._step(outcome, taken, most, _marking(tried, sent)):
                    return outcome
            except _Overwritten:
                self.known.forget()
                self.log.forget()
            except faults.AnswerLost:
                continue  # the log decides
            except _NotCommitted as failed:
                most = self._after(failed.error, outcome, taken, most)
            except JVM_ERRORS as error:
                if not _may_pass(error):
                    raise
        raise StorageUnavailable(
            f"{batch[0].intent.target} could not be committed to for {PATIENCE_SECONDS:.0f} s",
            code="commit-contention",
            hint="the sealed writes are safe: the next writer publishes them, or `catchment recover` does",
        )

    def _step(self, outcome: Outcome, batch: Sequence[Entry], most: int, tried: Tried) -> bool:
        """Check the log, then try one commit with the writes that are not in it; True if none is left."""
        head = self._head(outcome.left(batch))
        if head is None:
            return True
        self._find_committed(outcome, batch, head)
        left = self._fitting(outcome, batch, head)[:most]
        if left:
            check_memory(self.log.spark, left)  # if only some of them fit, the publisher tries fewer
            transaction = GroupTransaction.begin(self.log, head.snapshot, [write.write_id for write in left])
            tried(left)
            faults.point("before-swap")
            version = self._commit(transaction, left)
            faults.point("swap-applied")
            self._note(outcome, left, version)
        return not outcome.left(batch)

    def _commit(self, transaction: GroupTransaction, writes: Sequence[Entry]) -> int:
        try:
            return transaction.commit(_actions(self.log, writes), json.dumps(group_stamp(writes)), _metrics(writes))
        except JVM_ERRORS as error:
            raise _NotCommitted(error) from error

    def _head(self, left: Sequence[Entry]) -> Head | None:
        """The current state of the table; None if there is nothing to commit to it."""
        if not left:
            return None
        head = self.log.head()
        if head is None:
            raise JobError(
                f"there is no table {left[0].intent.target}",
                code="table-not-found",
                hint="`catchment recover` gives up the writes of a table that was dropped",
            )
        return head

    def _find_committed(self, outcome: Outcome, batch: Sequence[Entry], head: Head) -> None:
        for write_id in self.known.among([write.write_id for write in outcome.left(batch)], head):
            found = self.log.find(write_id)
            outcome.committed[write_id] = found.snapshot_id if found else None

    def _fitting(self, outcome: Outcome, batch: Sequence[Entry], head: Head) -> list[Entry]:
        """The writes that are left, after those that no longer fit the table are refused."""
        for write in outcome.left(batch):
            try:
                check_memory(self.log.spark, [write])
                why = sealed_files.refusal(write, head) or sealed_files.vanished(self.log, write)
            except UNREADABLE as error:
                outcome.set_aside[write.write_id] = unreadable(write, error)
                continue
            except JVM_ERRORS as error:  # such as an invalid path
                if _may_pass(error) or not are_to_blame([write], error):
                    raise
                outcome.set_aside[write.write_id] = _unpublishable(write, error)
                continue
            if why is not None:
                outcome.refused[write.write_id] = why
        return outcome.left(batch)

    def _after(self, error: Exception, outcome: Outcome, batch: Sequence[Entry], most: int) -> int:
        """How many writes to commit at once after a failed commit; raises if all of them would fail in the same way."""
        if _may_pass(error):
            return most
        blamed = outcome.left(batch)[:most]
        if not blamed or not are_to_blame(blamed, error):
            raise error
        if len(blamed) > 1:
            return len(blamed) // 2  # one of them is to blame; the others must not wait for it
        if (head := self.log.head()) is not None:
            self._find_committed(outcome, blamed, head)  # the error may have come after the commit
        outcome.set_aside.update({write.write_id: _unpublishable(write, error) for write in outcome.left(blamed)})
        return len(batch)

    @cached_property
    def _can_be_overwritten(self) -> bool:
        return needs_table_lease(self.log.spark, self.log.path)

    def _note(self, outcome: Outcome, writes: Sequence[Entry], version: int) -> None:
        write_ids = [write.write_id for write in writes]
        # Where the store accepts two commits of one version, the later one wins; elsewhere none can be overwritten.
        if self._can_be_overwritten and self.log.commit(version).write_ids != tuple(write_ids):
            raise _Overwritten
        self.known.add(write_ids, version)
        outcome.committed.update(dict.fromkeys(write_ids, version))


def _marking(tried: Tried, sent: set[str]) -> Tried:
    """A function that marks writes as tried; those that were sent before are marked already."""

    def mark(writes: Sequence[Entry]) -> None:
        tried([replace(write, tried=True) if write.write_id in sent else write for write in writes])
        sent.update(write.write_id for write in writes)

    return mark


def _bounded(batch: Sequence[Entry]) -> list[Entry]:
    """The first writes of a batch, as many as may share a version."""
    taken: list[Entry] = []
    files = 0
    for write in batch:
        files += write.contents.files if write.contents else 0
        if taken and files > MAX_FILES:
            break
        taken.append(write)
    return taken


def _may_pass(error: Exception) -> bool:
    """Whether another attempt may help: others committed first, or the store did not answer."""
    return kind_of(error) is not None or isinstance(from_spark(error), StorageUnavailable)


def _unpublishable(write: Entry, error: Exception) -> JobError:
    return set_aside_error(write, from_spark(error, otherwise="write-failed").message)


def _actions(log: Log, writes: Sequence[Entry]) -> Any:
    """The files of all writes and their transaction ids, as Delta's actions."""
    files = (file for write in writes for file in sealed_files.files_of(write))
    now = int(time.time() * 1000)
    ids = ({"appId": write.write_id, "version": 1, "lastUpdated": now} for write in writes)
    actions = sealed_files.as_actions(log.spark, "AddFile", files)
    actions.addAll(sealed_files.as_actions(log.spark, "SetTransaction", ids))
    return actions


def _metrics(writes: Sequence[Entry]) -> dict[str, int]:
    """The totals that Delta's history shows."""
    counts = [write.contents or Contents((), 0, 0, 0) for write in writes]
    return {
        "numFiles": sum(each.files for each in counts),
        "numOutputBytes": sum(each.bytes for each in counts),
        "numOutputRows": sum(each.rows for each in counts),
    }
