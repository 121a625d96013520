"""Compacts one table, partition by partition, in small commits; writers that wait go first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from catchment.errors import Cancelled, CatchmentError, EngineLost, LeaseHeld, RequestError, Retryable, SetupError
from catchment.formats.registry import traits_of
from catchment.plan.model import Dataset, Expire, Maintenance, Partition, Rewrite, RewriteManifests
from catchment.project.model import Upkeep
from catchment.run.compaction.lake_engines import NoEngineLives
from catchment.run.compaction.needs import Need, needs_of
from catchment.run.compaction.postponed import Postponed
from catchment.run.compaction.tidying import Tidying, tidying_of
from catchment.run.compaction.troubles import Troubles, paragraph
from catchment.table_health import PartitionHealth, TableHealth

LOOK_SECONDS = 10.0
"""How often a continuous compaction looks for new commits."""
YIELD_SECONDS = 60.0
"""How long a compaction waits for writers that wait, before it goes on."""
PAUSE_SECONDS = 0.25
EXPIRE_SECONDS = 3600.0
"""How often snapshots are expired while there is nothing to compact."""
LISTED = 100
"""How many compactions of partitions are listed of a table that is looked after without end."""
WORTH_IT = {"min-input-files": "2"}
"""The thresholds decide that a partition is compacted; the format then need not hesitate any more."""
APPLY_DELETES = {"delete-file-threshold": "1", "remove-dangling-deletes": "true"}
"""Rewrite the data files that deletes belong to, and remove those that belong to none any more."""
LOOK, NOT_MERGED, NOT_EXPIRED = "look", "manifests are not merged", "snapshots are not expired"
PROTECTED = "table-protected"
"""The code of the error for a table whose files have to stay; there is nothing wrong with its compaction."""
GONE = "table-not-found"
"""The code of the error for a table that does not exist."""
NO_PERMISSION = "no-permission"
"""The code of the error for the first file that may not be written."""


class Lake(Protocol):
    """What a compaction asks of an engine."""

    def health(
        self, table: Dataset, small_file_bytes: int | None, known: str | None, wanted: Sequence[Partition]
    ) -> TableHealth | None:
        """How well the files of a table serve its readers; None if its newest commit is the known one."""
        ...

    def maintain(self, table: Dataset, operation: Maintenance, *, by: str, dry_run: bool) -> Mapping[str, Any]:
        """Run one maintenance action."""
        ...


@dataclass
class Done:
    """What a compaction has done so far."""

    partitions: list[Mapping[str, Any]] = field(default_factory=list)
    """What each compaction of a partition did; only the last ones if it goes on without end."""
    compactions: int = 0
    rewritten_files: int = 0
    added_files: int = 0
    rewritten_bytes: int = 0
    failed: int = 0
    """What could not be done: partitions that were not compacted, or not all of their files, because others changed
    them or a store was down; manifests that were not merged, and snapshots that were not expired."""
    expired: int = 0
    """Snapshots that were expired."""

    def add(self, need: Need, facts: Mapping[str, Any], *, listed: int | None) -> None:
        """Count one compaction of a partition; with `listed`, only so many of the last ones stay listed."""
        counts = {key: int(facts.get(key, 0)) for key in ("rewritten_files", "added_files", "rewritten_bytes")}
        self.rewritten_files += counts["rewritten_files"]
        self.added_files += counts["added_files"]
        self.rewritten_bytes += counts["rewritten_bytes"]
        self.failed += bool(facts.get("failed_files"))
        self.compactions += 1
        self.partitions.append({"partition": need.name, "reasons": list(need.reasons), **counts})
        if listed is not None:
            del self.partitions[:-listed]


@dataclass(frozen=True)
class Task:
    """Something to do for a table as a whole."""

    failure: str
    """What to say if it fails."""
    run: Callable[[], bool]
    """Does it; False if others were quicker, so that it comes again."""


@dataclass
class TableCompactor:
    """A compaction of one table."""

    lake: Lake
    table: Dataset
    upkeep: Upkeep
    by: str
    wanted: Sequence[Partition] = ()
    """Only these partitions; all of them if empty."""
    writers_wait: Callable[[], bool] = lambda: False
    """Whether sealed writes of the table wait to be published."""
    check: Callable[[], None] = lambda: None
    """Raises if somebody else has taken over the right to compact the table."""
    stop: threading.Event = field(default_factory=threading.Event)
    tell: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.time
    done: Done = field(default_factory=Done)
    wasted_bytes: int = 0
    """What compactions that failed have read for nothing, by estimate."""
    _last: TableHealth | None = None
    _tried: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """What each partition had before it was compacted: one that still has that is left alone."""
    _postponed: Postponed = field(default_factory=Postponed)
    """Partitions whose last compaction failed, or left files over."""
    _untidied: Postponed = field(default_factory=Postponed)
    """What has failed for the table as a whole."""
    _was_read: bool = False
    """Whether the table could be looked at once."""
    _troubles: Troubles = field(default_factory=Troubles)
    """What keeps the table from being looked at."""
    _expired: float | None = None
    """When snapshots were last expired."""
    _manifests_left: int = 0
    """How many manifests the last merge left: a large table needs many."""

    def look(self) -> tuple[TableHealth, tuple[Need, ...]]:
        """The table as it is now, and what it needs; what was tried without effect is not among it.

        What failed comes later and then last, so that no partition keeps the others waiting.
        """
        found = self.measure()
        contents = {Need(each, ()).name: _content(each) for each in found.partitions}
        self._tried = {name: before for name, before in self._tried.items() if contents.get(name) == before}
        now = self.clock()
        needs = needs_of(found, self.upkeep.thresholds, now, self.wanted)
        due = (need for need in needs if need.name not in self._tried and self._postponed.is_due(need.name, now))
        return found, tuple(sorted(due, key=lambda need: need.name in self._postponed))

    def measure(self) -> TableHealth:
        """The table as it is now; it is only read if somebody has committed since the last time."""
        known, limit = self._last.head if self._last else None, self.upkeep.thresholds.small_file_bytes
        found = self.lake.health(self.table, limit, known, self.wanted) or self._last
        if found is None:
            raise AssertionError("a table is known from the first look on")
        self._last, self._was_read = found, True
        return found

    def batch(self) -> Done:
        """Compact everything that needs it now; then expire what the table's writers leave to the compaction."""
        found, needs = self.look()
        self._tell_of_empty(found)
        done = set[str]()
        while needs and not self.stop.is_set():
            for need in needs:
                if not self._attempt(need, comes_again=False):
                    break
                done.add(need.name)  # once: whatever comes meanwhile is for the next compaction
            self.forget()
            if not self.stop.is_set():
                found, later = self.look()
                needs = tuple(need for need in later if need.name not in done)
        self.try_to_tidy(found, expire_now=True)
        return self.done

    def _tell_of_empty(self, found: TableHealth) -> None:
        """Say which of the partitions that somebody has named have no files."""
        there = [dict(each.partition or {}) for each in found.partitions]
        for each in (each for each in self.wanted if dict(each.values) not in there):
            self.tell(f"{self.table.address} {each} has no files: nothing to compact")

    def continuous(self, every: float = LOOK_SECONDS) -> Done:
        """Follow the table until somebody stops it, or it is gone; partitions that are being written come later."""
        while not self.stop.is_set():
            if not (self._untidied.is_due(LOOK, self.clock()) and self._tried_step()):
                self.stop.wait(every)
        return self.done

    def _tried_step(self) -> bool:
        """A step; what keeps the table from being looked at is told once, unless it will never go away."""
        try:
            worked = self._step()
        except (EngineLost, LeaseHeld):  # several engines in a row, and not because of one partition
            raise
        except CatchmentError as error:
            if not isinstance(error, Retryable | Cancelled):
                if not self._was_read or error.code == GONE:
                    raise
                self._untidied.failed(LOOK, self.clock())
            if self._troubles.unreadable(self.table.address, error):
                self.tell(f"{self.table.address} is looked at again later: {paragraph(error)}")
            return False
        self._untidied.succeeded(LOOK)
        self._troubles.readable(self.table.address)
        return worked

    def _step(self) -> bool:
        """Compact the partition that needs it most; False if there is none, or if it failed.

        One at a time: what comes next is decided by what the table is then.
        """
        found, needs = self.look()
        due = [need for need in needs if not need.busy]
        if due:
            self._attempt(due[0], comes_again=True)
            self.forget()
        self.try_to_tidy(found, expire_now=len(due) == 1)
        return bool(due) and due[0].name not in self._postponed

    def _attempt(self, need: Need, *, comes_again: bool) -> bool:
        """Compact one partition; whatever is wrong with it is told, and is no trouble of the others."""
        try:
            return self.compact(need, comes_again=comes_again)
        except (Retryable, LeaseHeld):  # of the engine, the metastore or the lease
            raise
        except CatchmentError as error:
            self.done.failed += 1
            self.tell(f"{self.table.address} {need.name} was not compacted: {paragraph(error)}")
            return True

    def compact(self, need: Need, *, comes_again: bool) -> bool:
        """Compact one partition; False if the compaction was stopped before it.

        `comes_again` says that what fails now is tried again without anybody doing anything. What will hardly go away
        by itself is raised.
        """
        self.yield_to_writers()
        if self.stop.is_set():
            return False
        self.check()
        self._tried[need.name] = _content(need.health)
        try:
            facts = self.lake.maintain(self.table, self._rewrite(need), by=self.by, dry_run=False)
        except NoEngineLives:
            raise
        except CatchmentError as error:  # also if it has cost several engines: the next one goes on with the others
            self._postpone(need)
            self.wasted_bytes += 0 if _is_refusal(error) else need.cost
            if not isinstance(error, Retryable):
                raise
            self.done.failed += 1
            known = error if error.hint or comes_again else error.changed(hint="compact the table again")
            outcome = "is compacted later" if comes_again else "was not compacted"
            self.tell(f"{self.table.address} {need.name} {outcome}: {paragraph(known)}")
            return True
        if facts.get("failed_files"):
            self._postpone(need)
            self.wasted_bytes += max(0, need.cost - int(facts.get("rewritten_bytes", 0)))
        else:
            self._postponed.succeeded(need.name)
        self.done.add(need, facts, listed=LISTED if comes_again else None)
        self.tell(_told(self.table, need, facts))
        return True

    def _postpone(self, need: Need) -> None:
        """Try a partition again later: it may work then, although nothing has changed."""
        self._postponed.failed(need.name, self.clock())
        self._tried.pop(need.name, None)

    def tasks(self, found: TableHealth, *, expire_now: bool = False) -> Iterator[Task]:
        """What there is to do for the table as a whole: merge many manifests, and expire snapshots, now or in turn."""
        needed, now = self.tidying(found), self.clock()
        if needed.merges_manifests and self._untidied.is_due(NOT_MERGED, now):
            yield Task(NOT_MERGED, lambda: self._merge_manifests(found))
        expiry_is_due = expire_now or self._expired is None or now - self._expired >= EXPIRE_SECONDS
        if needed.expires_snapshots and expiry_is_due and self._untidied.is_due(NOT_EXPIRED, now):
            yield Task(NOT_EXPIRED, self._expire)

    def tidy(self, task: Task) -> None:
        """Do something for the table as a whole; what fails is raised, and comes again after a pause that grows."""
        is_done = False
        try:
            is_done = task.run()
        finally:
            if is_done:
                self._untidied.succeeded(task.failure)
            else:
                self._untidied.failed(task.failure, self.clock())

    def try_to_tidy(self, found: TableHealth, *, expire_now: bool) -> None:
        """Do everything for the table as a whole until it is stopped; what fails is told and keeps nothing else."""
        for task in self.tasks(found, expire_now=expire_now):
            if self.stop.is_set():
                return
            try:
                self.tidy(task)
            except (EngineLost, LeaseHeld):
                raise
            except CatchmentError as error:
                self.done.failed += 1
                self.tell(f"{self.table.address}: {task.failure}: {paragraph(error)}")

    def tidying(self, found: TableHealth) -> Tidying:
        """What there is to do for the table as a whole."""
        return tidying_of(self.table, found, self.upkeep, self._manifests_left)

    def _merge_manifests(self, found: TableHealth) -> bool:
        """Merge manifests; if others are quicker, that is left to the next compaction."""
        self.yield_to_writers()
        self.check()
        try:
            facts = self.lake.maintain(self.table, RewriteManifests(), by=self.by, dry_run=False)
        except EngineLost:
            raise
        except Retryable as error:
            self.tell(f"{self.table.address}: the next compaction merges its manifests: {paragraph(error)}")
            return False
        gone, new = int(facts.get("rewritten_manifests", 0)), int(facts.get("added_manifests", 0))
        self._manifests_left = (found.manifests or 0) - gone + new
        self.forget()
        self.tell(f"{self.table.address}: {gone} manifests became {new}")
        return True

    def _expire(self) -> bool:
        """Expire snapshots; what others still need stays."""
        self.check()
        now, retention = self.clock(), self.upkeep.retention
        before = None if retention is None else int((now - retention) * 1000)
        try:
            facts = self.lake.maintain(self.table, Expire(before), by=self.by, dry_run=False)
        except CatchmentError as error:
            if error.code != PROTECTED:
                raise
            self._expired = now
            self.tell(f"{self.table.address} keeps its snapshots: {paragraph(error)}")
            return True
        self._expired = now
        gone, files = len(facts.get("snapshots", ())), int(facts.get("removed_files", 0))
        self.done.expired += gone
        if gone:
            self.tell(f"{self.table.address}: {gone} snapshots expired")
        elif files:
            self.tell(f"{self.table.address}: {files} old files removed")
        return True

    def forget(self) -> None:
        """Look at the table anew next time, whatever its newest commit is."""
        self._last = None

    def yield_to_writers(self) -> None:
        """Let writers that wait go first."""
        deadline = time.monotonic() + YIELD_SECONDS
        while self.writers_wait() and time.monotonic() < deadline and not self.stop.wait(PAUSE_SECONDS):
            pass

    def _rewrite(self, need: Need) -> Rewrite:
        found, known = self._last, traits_of(self.table.format).rewrite_options
        limit = {"min-file-size-bytes": str(found.small_file_bytes)} if found else {}
        asked = {**WORTH_IT, **limit, **(APPLY_DELETES if need.health.delete_files else {})}
        properties = {key: value for key, value in asked.items() if key in known}
        return Rewrite(properties=properties, partitions=(need.partition,) if need.partition else ())


def _content(each: PartitionHealth) -> tuple[int, int, int]:
    """Data files, their bytes, and delete files: deletes come and go beside the same data files."""
    return each.files, each.bytes, each.delete_files


def _is_refusal(error: CatchmentError) -> bool:
    """Whether a compaction has failed before it had read anything worth counting."""
    return isinstance(error, RequestError | SetupError) or error.code == NO_PERMISSION


def _told(table: Dataset, need: Need, facts: Mapping[str, Any]) -> str:
    files = f"{facts.get('rewritten_files', 0)} files became {facts.get('added_files', 0)}"
    return f"{table.address} {need.name}: {files} ({'; '.join(need.reasons)})"
