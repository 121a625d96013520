"""Publishes staged files: in each directory, new files are added first, then old ones are removed.

All changes are in the ledger and in the stage before the first one is made. After a crash the next writer makes the
same changes again. That is safe, because a name is never used for two different files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from catchment.commit import faults
from catchment.commit.publisher import Check, Outcome
from catchment.commit.set_aside import SET_ASIDE, UNREADABLE, set_aside_error
from catchment.errors import CommitConflict, JobError, StorageUnavailable
from catchment.formats.files import journal, receipts
from catchment.formats.files.journal import Addition, FileChanges
from catchment.formats.files.obstacles import STORE_ERRORS, is_in_the_way, reason
from catchment.formats.files.stage import dataset_of, from_dataset
from catchment.formats.files.storage import Missing, Move, Storage
from catchment.store.ledger import Ledger
from catchment.store.writes import Contents, Entry

log = logging.getLogger(__name__)

MAX_ROUNDS = 3
"""How often publishing starts again because another process is publishing the same stage."""
NOTHING = Contents((), 0, 0, 0)


@dataclass(frozen=True)
class Directory:
    """A dataset of plain files as the destination of writes."""

    storage: Callable[[str], Storage]
    """The store that a dataset's directory is in."""
    ledger: Ledger
    batch: int = 1
    """Writes are published one by one: each is marked as committed before the next one may replace its files."""
    removes_buffers: bool = True

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        """Publish the first write of the queue; changes that were begun before are completed."""
        outcome = Outcome()
        for write in batch:
            try:
                self._publish_or_refuse(write, check, outcome)
            except STORE_ERRORS as error:
                if not is_in_the_way(error):
                    raise _interrupted(write, error) from error
                check()
                outcome.set_aside[write.write_id] = set_aside_error(write, f"{reason(error)}; {self._published(write)}")
        return outcome

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        """Remove the stages from which nothing was published."""
        return tuple(buffer for buffer in buffers if dataset_of(buffer) and self._remove_stage(buffer))

    def _remove_stage(self, stage: str) -> bool:
        try:
            storage, plan = self._storage(stage), receipts.plan_of(self._storage(stage), stage)
            if plan and not receipts.receipt_of(storage, stage, plan.write_id):
                if (dropped := self._dropped(plan)) is None:
                    return False  # half published: the next attempt at the write finishes it
                # Its job will be run again, and its rows must not be there twice.
                _remove_appended(storage, dropped, journal.changes_of(plan.contents))
            storage.clear(from_dataset(stage))
        except (*STORE_ERRORS, *UNREADABLE):
            # The writer that cleans up must not fail because of this; the ledger still lists the stage.
            return False
        return True

    def _dropped(self, plan: receipts.Record) -> Entry | None:
        """The write of a plan if it was set aside and then dropped by a user; None if its run may still finish it."""
        write = self.ledger.find(plan.write_id)
        dropped = write and write.state == "abandoned" and write.intent.buffer == plan.stage
        return write if dropped and write and (write.error or {}).get("code") == SET_ASIDE else None

    def _published(self, write: Entry) -> str:
        """How much of a write is published, for the user who has to decide what to do with it."""
        storage, stage = self._storage(write.intent.buffer), write.intent.buffer
        try:
            plan = receipts.plan_of(storage, stage)
            changes = journal.changes_of(plan.contents) if plan else FileChanges(())
            placed = _placed(storage, changes)
        except STORE_ERRORS:  # the obstacle may block this check, too
            return "some of its files may be published"
        if not placed:
            return "nothing was published"
        return f"{len(placed)} of its {len(changes.additions)} files are published, and --retry publishes the others"

    def _publish_or_refuse(self, write: Entry, check: Check, outcome: Outcome) -> None:
        try:
            self._publish(write, check)
            outcome.committed[write.write_id] = None
        except _StageDamaged as damaged:
            check()
            outcome.refused[write.write_id] = _refusal(write, damaged, self._undo_append(write))
        except _Overtaken as overtaken:
            outcome.refused[write.write_id] = _overtaken(write, overtaken)

    def _undo_append(self, write: Entry) -> str:
        """Remove the published files of a damaged append; for other writes, report which files are published."""
        storage, changes = self._storage(write.intent.buffer), journal.changes_of(write.contents or NOTHING)
        begun = write.tried or receipts.plan_of(storage, write.intent.buffer) is not None
        # If the write is still sealed, no later write has replaced its files, so they are really lost.
        if not begun or self.ledger.state(write.write_id) != "sealed":
            return "nothing was published"
        receipts.drop_plan(storage, write.intent.buffer)
        if not _can_be_undone(storage, write, changes):
            return f"these of its files are published: {', '.join(_placed(storage, changes)) or 'none'}"
        return f"{_remove_appended(storage, write, changes)} files that were published already were removed again"

    def _publish(self, write: Entry, check: Check) -> None:
        storage, stage = self._storage(write.intent.buffer), write.intent.buffer
        if receipts.receipt_of(storage, stage, write.write_id) is None:
            self._make_changes(storage, write, check)
            receipts.keep_receipt(storage, write)
        self._clear_published(storage, stage)
        faults.point("stage-cleared")

    def _clear_published(self, storage: Storage, stage: str) -> None:
        """Remove the stage of a write that has its receipt. A stage that cannot be removed blocks nothing.

        Such a write must not be set aside: all of it is published, and a user might drop it and run its job again.
        """
        try:
            storage.clear(from_dataset(stage))
        except STORE_ERRORS as error:
            if not is_in_the_way(error):
                raise
            log.warning("%s is published and its stage can be removed, but not by us: %s", stage, reason(error))

    def _make_changes(self, storage: Storage, write: Entry, check: Check) -> None:
        stage, contents = write.intent.buffer, write.contents or NOTHING
        plan = receipts.plan_of(storage, stage)
        changes = journal.changes_of(plan.contents if plan else contents)
        left = _left_in_stage(storage, from_dataset(stage), changes)  # raises before anything changes if files are lost
        if not plan:
            # Before the plan and the first change: if an obstacle is found now, nothing of the write is visible.
            storage.make_directories(changes.partitions)
        if not plan and not write.tried:
            changes = FileChanges(changes.additions, _replaced_files(storage, write, changes))
            if write.intent.mode == "maintain":
                _check_not_overtaken(storage, changes)
        planned = journal.planned(contents, changes)
        if not write.tried:
            self.ledger.mark_planned(write, planned)
        if not plan:
            check()
            # The plan in the stage counts: a ledger that was replaced by an older copy does not know it.
            changes = journal.changes_of(receipts.keep_plan(storage, write, planned))
        faults.point("planned")
        if not changes.additions:
            storage.make()  # so that readers find an empty dataset instead of a missing path
        _roll_forward(storage, from_dataset(stage), FileChanges(left, changes.removals), check)

    def _storage(self, buffer: str) -> Storage:
        return self.storage(str(dataset_of(buffer)))


class _StageDamaged(Exception):
    """A file is neither in the stage nor in place."""


class _Overtaken(Exception):
    """A file that a compaction has rewritten is gone: others have replaced it meanwhile."""


def _placed(storage: Storage, changes: FileChanges) -> list[str]:
    """The files of a write that are in place."""
    there = storage.sizes(changes.partitions)
    return [each.path for each in changes.additions if each.path in there]


def _remove_appended(storage: Storage, write: Entry, changes: FileChanges) -> int:
    """Remove the published files of a write that can be undone, and say how many.

    Names are never used twice, so nothing that others have published since is among them.
    """
    placed = _placed(storage, changes) if _can_be_undone(storage, write, changes) else []
    storage.remove(placed)
    return len(placed)


def _can_be_undone(storage: Storage, write: Entry, changes: FileChanges) -> bool:
    """Whether a write has only added files so far. Those of an overwrite must stay, because what they replace is gone.

    A compaction removes nothing before all of its own files are in place.
    """
    if write.intent.mode != "maintain":
        return write.intent.mode == "append"
    return set(changes.removals) <= set(storage.sizes(changes.partitions))


def _check_not_overtaken(storage: Storage, changes: FileChanges) -> None:
    there = storage.sizes(changes.partitions)
    if gone := next((path for path in changes.removals if path not in there), None):
        raise _Overtaken(gone)


def _replaced_files(storage: Storage, write: Entry, changes: FileChanges) -> tuple[str, ...]:
    """The existing files that the write replaces; a compaction replaces those that it has read, and no others."""
    if write.intent.mode == "maintain":
        return changes.removals
    replaced = {"append": (), "overwrite": ("",), "overwrite-partitions": changes.partitions}[write.intent.mode]
    there, new = set(storage.sizes(replaced)), {each.path for each in changes.additions}
    # If some of its own files are in place, an earlier attempt had a plan, which is lost. Then newer files must stay.
    return () if there & new else tuple(sorted(there))


def _roll_forward(storage: Storage, stage: str, changes: FileChanges, check: Check) -> None:
    for _ in range(MAX_ROUNDS):
        try:
            for wave in journal.waves(changes, storage.wave):
                check()
                storage.place([Move(f"{stage}/{each.staged}", each.path, each.bytes) for each in wave.additions])
                faults.point("partition-published")
                if wave.removals:
                    storage.remove(wave.removals)
                    faults.point("old-removed")
            return
        except Missing:
            # Another process is publishing the same stage; what it has already moved need not be moved again.
            check()
            changes = FileChanges(_left_in_stage(storage, stage, changes), changes.removals)
    raise OSError(f"{stage} changes while it is being published")


def _left_in_stage(storage: Storage, stage: str, changes: FileChanges) -> tuple[Addition, ...]:
    """The additions that are still in the stage; raises if an addition is neither there nor in place."""
    found = storage.sizes([stage])
    left = tuple(each for each in changes.additions if found.get(f"{stage}/{each.staged}") == each.bytes)
    gone = FileChanges(tuple(set(changes.additions).difference(left)))
    there = storage.sizes(gone.partitions) if gone.additions else {}
    if lost := [each.path for each in gone.additions if there.get(each.path) != each.bytes]:
        raise _StageDamaged(lost[0])
    return left


def _refusal(write: Entry, damaged: _StageDamaged, published: str) -> JobError:
    return JobError(
        f"the stage of {write.write_id} in {write.intent.target} has lost {damaged}; {published}",
        code="stage-damaged",
        hint="run the job again in a new run; check whether another program removes hidden directories",
    )


def _overtaken(write: Entry, gone: _Overtaken) -> CommitConflict:
    return CommitConflict(
        f"{gone} of {write.intent.target} was replaced while it was compacted",
        code="maintenance-overtaken",
        hint="nothing was changed; compact again when nobody overwrites these partitions",
    )


def _interrupted(write: Entry, error: Exception) -> StorageUnavailable:
    return StorageUnavailable(
        f"{write.intent.target}: publishing the files of {write.write_id} was interrupted: {reason(error)}",
        code="publish-interrupted",
        hint="the sealed write is safe: another attempt, the next writer or `catchment recover` will publish it",
    )
