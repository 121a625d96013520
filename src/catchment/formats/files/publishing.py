"""Publishes staged files: in each directory, new files are added first, then old ones are removed.

All changes are in the ledger and in the stage before the first one is made. After a crash the next writer makes the
same changes again. That is safe, because a name is never used for two different files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from catchment.commit import faults
from catchment.commit.publisher import Check, Outcome
from catchment.errors import JobError, StorageUnavailable
from catchment.formats.files import journal, receipts
from catchment.formats.files.journal import Addition, FileChanges
from catchment.formats.files.stage import dataset_of, from_dataset
from catchment.formats.files.storage import Missing, Move, Storage
from catchment.store.ledger import Ledger
from catchment.store.writes import Contents, Entry

MAX_ROUNDS = 3
"""How often publishing starts again because somebody else is publishing the same stage."""
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
            except (OSError, Py4JJavaError) as error:
                raise _interrupted(write, error) from error
        return outcome

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        """Remove the stages of which nothing was published."""
        return tuple(buffer for buffer in buffers if dataset_of(buffer) and self._remove_stage(buffer))

    def _remove_stage(self, stage: str) -> bool:
        try:
            storage, plan = self._storage(stage), receipts.plan_of(self._storage(stage), stage)
            if plan and not receipts.receipt_of(storage, stage, plan.write_id):
                return False  # half published: whoever runs the write again finishes it
            storage.clear(from_dataset(stage))
        except (OSError, Py4JJavaError, PySparkException):
            # The writer that cleans up has its own work, which must not fail; the ledger still lists the stage.
            return False
        return True

    def _publish_or_refuse(self, write: Entry, check: Check, outcome: Outcome) -> None:
        try:
            self._publish(write, check)
            outcome.committed[write.write_id] = None
        except _StageDamaged as damaged:
            check()
            outcome.refused[write.write_id] = _refusal(write, damaged, self._undo_append(write))

    def _undo_append(self, write: Entry) -> str:
        """Remove the published files of a damaged append; for other writes, report which files are published."""
        storage, changes = self._storage(write.intent.buffer), journal.changes_of(write.contents or NOTHING)
        begun = write.tried or receipts.plan_of(storage, write.intent.buffer) is not None
        # If the write is still sealed, no later write has replaced its files, so they are really lost.
        if not begun or self.ledger.state(write.write_id) != "sealed":
            return "nothing was published"
        receipts.drop_plan(storage, write.intent.buffer)
        there = storage.sizes(changes.partitions)
        placed = [each.path for each in changes.additions if each.path in there]
        if write.intent.mode != "append":
            return f"these of its files are published: {', '.join(placed) or 'none'}"
        storage.remove(placed)
        return f"{len(placed)} files that were published already were removed again"

    def _publish(self, write: Entry, check: Check) -> None:
        storage, stage = self._storage(write.intent.buffer), write.intent.buffer
        if receipts.receipt_of(storage, stage, write.write_id) is None:
            self._make_changes(storage, write, check)
            receipts.keep_receipt(storage, write)
        # The stage is removed last: while it exists, the write is not done.
        storage.clear(from_dataset(stage))
        faults.point("stage-cleared")

    def _make_changes(self, storage: Storage, write: Entry, check: Check) -> None:
        stage, contents = write.intent.buffer, write.contents or NOTHING
        plan = receipts.plan_of(storage, stage)
        changes = journal.changes_of(plan.contents if plan else contents)
        left = _left_in_stage(storage, from_dataset(stage), changes)  # raises before anything changes if files are lost
        if not plan and not write.tried:
            changes = FileChanges(changes.additions, _replaced_files(storage, write, changes))
        planned = journal.planned(contents, changes)
        if not write.tried:
            self.ledger.mark_planned(write, planned)
        if not plan:
            check()
            # The one in the stage counts: a ledger that was replaced by an older copy knows of no plan.
            changes = journal.changes_of(receipts.keep_plan(storage, write, planned))
        faults.point("planned")
        if not changes.additions:
            storage.make()  # so that readers find an empty dataset instead of a missing path
        _roll_forward(storage, from_dataset(stage), FileChanges(left, changes.removals), check)

    def _storage(self, buffer: str) -> Storage:
        return self.storage(str(dataset_of(buffer)))


class _StageDamaged(Exception):
    """A file is neither in the stage nor in its place."""


def _replaced_files(storage: Storage, write: Entry, changes: FileChanges) -> tuple[str, ...]:
    """The existing files that the write replaces."""
    replaced = {"append": (), "overwrite": ("",), "overwrite-partitions": changes.partitions}[write.intent.mode]
    there, new = set(storage.sizes(replaced)), {each.path for each in changes.additions}
    # If some of its own files are in place, an earlier attempt had a plan, which is lost; later files must not go.
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
            # Another process is publishing the same stage; what it has moved already is not left to do.
            check()
            changes = FileChanges(_left_in_stage(storage, stage, changes), changes.removals)
    raise OSError(f"{stage} changes while it is being published")


def _left_in_stage(storage: Storage, stage: str, changes: FileChanges) -> tuple[Addition, ...]:
    """The additions that are still in the stage; raises if another one is not in its place either."""
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


def _interrupted(write: Entry, error: Exception) -> StorageUnavailable:
    reason = error.java_exception.toString() if isinstance(error, Py4JJavaError) else error
    return StorageUnavailable(
        f"{write.intent.target}: publishing the files of {write.write_id} was interrupted: {reason}",
        code="publish-interrupted",
        hint="the sealed write is safe: another attempt, the next writer or `catchment recover` will publish it",
    )
