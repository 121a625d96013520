"""Publish staged files: new ones appear first, then old ones go, directory after directory.

Before the first change the ledger knows every change. Whoever comes after a kill does the same changes again, and each
of them may be done twice: names are never used for two different files.
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
from catchment.formats.files.journal import Addition, Changes
from catchment.formats.files.stage import dataset_of, from_dataset
from catchment.formats.files.storage import Missing, Move, Storage
from catchment.store.ledger import Ledger
from catchment.store.writes import Contents, Entry

TIMES = 3
"""How often a stage is looked at again because somebody else is publishing it as well."""
NOTHING = Contents((), 0, 0, 0)


@dataclass(frozen=True)
class Directory:
    """A dataset of plain files as the destination of writes."""

    storage: Callable[[str], Storage]
    """The store that a dataset's directory is in."""
    ledger: Ledger
    batch: int = 1
    """One by one: a write is marked before the next one may replace its files."""
    removes_buffers: bool = True

    def consolidate(self, batch: Sequence[Entry], check: Check) -> Outcome:
        """Publish the write at the head of the queue; what was begun before is rolled forward."""
        outcome = Outcome()
        for write in batch:
            try:
                self._publish_or_refuse(write, check, outcome)
            except (OSError, Py4JJavaError) as error:
                raise _interrupted(write, error) from error
        return outcome

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        """Remove stages: nothing in them was ever seen by anybody, so nothing else has to be asked."""
        return tuple(buffer for buffer in buffers if dataset_of(buffer) and self._removed(buffer))

    def _removed(self, stage: str) -> bool:
        try:
            self._storage(stage).clear(from_dataset(stage))
        except (OSError, Py4JJavaError, PySparkException):
            # Whoever cleans up after others has work of his own, which must not fail; the ledger remembers the stage.
            return False
        return True

    def _publish_or_refuse(self, write: Entry, check: Check, outcome: Outcome) -> None:
        try:
            self._publish(write, check)
            outcome.committed[write.write_id] = None
        except _Damaged as damaged:
            check()
            outcome.refused[write.write_id] = _refusal(write, damaged, self._taken_back(write))

    def _taken_back(self, write: Entry) -> str:
        """Leave nothing of a damaged append, and say what is there of any other write."""
        storage, changes = self._storage(write.intent.buffer), journal.changes_of(write.contents or NOTHING)
        # Still sealed after the damage was seen: no later write has been at the files, and they are really lost.
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
        left = _staged(storage, stage, journal.changes_of(contents))  # complete, or nothing is touched
        changes = journal.changes_of(contents)
        if not write.tried:
            changes = Changes(changes.additions, _old(storage, write, changes))
            self.ledger.mark_planned(write, journal.planned(contents, changes))
        faults.point("planned")
        if not changes.additions:
            storage.make()  # readers find a dataset without rows, not a place that is not there
        _roll_forward(storage, stage, Changes(left, changes.removals), check)
        # While the stage is there the write is not done: its end is the sign that every change was made.
        storage.clear(stage)
        faults.point("stage-cleared")

    def _storage(self, buffer: str) -> Storage:
        return self.storage(str(dataset_of(buffer)))


class _Damaged(Exception):
    """Files are neither in the stage nor where they belong."""


def _old(storage: Storage, write: Entry, changes: Changes) -> tuple[str, ...]:
    """The files that the write replaces."""
    replaced = {"append": (), "overwrite": ("",), "overwrite-partitions": changes.partitions}[write.intent.mode]
    new = {each.path for each in changes.additions}
    return tuple(sorted(set(storage.sizes(replaced)) - new))


def _roll_forward(storage: Storage, stage: str, changes: Changes, check: Check) -> None:
    for _ in range(TIMES):
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
            # Two of us are alive: what the other one has placed is not left to do.
            check()
            changes = Changes(_staged(storage, stage, changes), changes.removals)
    raise OSError(f"{stage} changes while it is being published")


def _staged(storage: Storage, stage: str, changes: Changes) -> tuple[Addition, ...]:
    """The additions that are still in the stage; the others must be in their place."""
    found = storage.sizes([stage])
    left = tuple(each for each in changes.additions if found.get(f"{stage}/{each.staged}") == each.bytes)
    gone = Changes(tuple(set(changes.additions).difference(left)))
    there = storage.sizes(gone.partitions) if gone.additions else {}
    if lost := [each.path for each in gone.additions if there.get(each.path) != each.bytes]:
        raise _Damaged(lost[0])
    return left


def _refusal(write: Entry, damaged: _Damaged, published: str) -> JobError:
    return JobError(
        f"the stage of {write.write_id} in {write.intent.target} has lost {damaged}; {published}",
        code="stage-damaged",
        hint="run the job again in a new run; look for a cleaner that removes hidden directories",
    )


def _interrupted(write: Entry, error: Exception) -> StorageUnavailable:
    reason = error.java_exception.toString() if isinstance(error, Py4JJavaError) else error
    return StorageUnavailable(
        f"{write.intent.target}: publishing the files of {write.write_id} was interrupted: {reason}",
        code="publish-interrupted",
        hint="the sealed write is safe: another attempt, the next writer or `catchment recover` goes on with it",
    )
