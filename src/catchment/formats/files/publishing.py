"""Publishes staged files: in each directory, new files are added first, then old ones are removed.

All changes are in the ledger before the first one is made. After a crash the next writer makes the same changes again.
That is safe, because a name is never used for two different files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from catchment.commit import faults
from catchment.commit.publisher import Check, Outcome
from catchment.errors import JobError, StorageUnavailable
from catchment.formats.files import journal as journal
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
        """Remove stages; their files were never visible, so nothing else has to be checked."""
        return tuple(buffer for buffer in buffers if dataset_of(buffer) and self._remove_stage(buffer))

    def _remove_stage(self, stage: str) -> bool:
        try:
            self._storage(stage).clear(from_dataset(stage))
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
        # If the write is still sealed, no later write has replaced its files, so they are really lost.
        if not write.tried or self.ledger.state(write.write_id) != "sealed":
            return "nothing was published"
        there = storage.sizes(changes.partitions)
        placed = [each.path for each in changes.additions if each.path in there]
        if write.intent.mode != "append":
            return f"these of its files are published: {', '.join(placed) or 'none'}"
        storage.remove(placed)
        return f"{len(placed)} files that were published already were removed again"

    def _publish(self, write: Entry, check: Check) -> None:
        storage, stage = self._storage(write.intent.buffer), from_dataset(write.intent.buffer)
        contents = write.contents or NOTHING
        left = _left_in_stage(
            storage, stage, journal.changes_of(contents)
        )  # raises before anything changes if files are lost
        changes = journal.changes_of(contents)
        if not write.tried:
            changes = FileChanges(changes.additions, _replaced_files(storage, write, changes))
            self.ledger.mark_planned(write, journal.planned(contents, changes))
        faults.point("planned")
        if not changes.additions:
            storage.make()  # so that readers find an empty dataset instead of a missing path
        _roll_forward(storage, stage, FileChanges(left, changes.removals), check)
        # The stage is removed last: while it exists, the write is not done.
        storage.clear(stage)
        faults.point("stage-cleared")

    def _storage(self, buffer: str) -> Storage:
        return self.storage(str(dataset_of(buffer)))


class _StageDamaged(Exception):
    """A file is neither in the stage nor in its place."""


def _replaced_files(storage: Storage, write: Entry, changes: FileChanges) -> tuple[str, ...]:
    """The existing files that the write replaces."""
    replaced = {"append": (), "overwrite": ("",), "overwrite-partitions": changes.partitions}[write.intent.mode]
    new = {each.path for each in changes.additions}
    return tuple(sorted(set(storage.sizes(replaced)) - new))


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
