"""Compacts one table, partition by partition, in small commits; writers that wait go first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from catchment.errors import EngineLost, Retryable
from catchment.formats.registry import traits_of
from catchment.plan.model import Dataset, Expire, Maintenance, Partition, Rewrite, RewriteManifests
from catchment.project.model import Upkeep
from catchment.run.compaction.needs import Need, needs_of
from catchment.run.compaction.troubles import paragraph
from catchment.table_health import PartitionHealth, TableHealth

LOOK_SECONDS = 10.0
"""How often a continuous compaction looks for new commits."""
YIELD_SECONDS = 60.0
"""How long a compaction waits for writers that wait, before it goes on."""
PAUSE_SECONDS = 0.25
EXPIRE_SECONDS = 3600.0
"""How often snapshots are expired while there is nothing to compact."""
MANY_MANIFESTS = 100
"""Every query reads all manifests of a table, whatever partitions it needs."""
WORTH_IT = {"min-input-files": "2"}
"""The thresholds decide that a partition is compacted; the format then need not hesitate any more."""
APPLY_DELETES = {"delete-file-threshold": "1", "remove-dangling-deletes": "true"}
"""Rewrite the data files that deletes belong to, and remove those that belong to none any more."""


class Lake(Protocol):
    """What a compaction asks of an engine."""

    def health(self, table: Dataset, small_file_bytes: int | None, known: str | None) -> TableHealth | None:
        """How well the files of a table serve its readers; None if its newest commit is the known one."""
        ...

    def maintain(self, table: Dataset, operation: Maintenance, *, by: str, dry_run: bool) -> Mapping[str, Any]:
        """Run one maintenance action."""
        ...


@dataclass
class Done:
    """What a compaction has done so far."""

    partitions: list[Mapping[str, Any]] = field(default_factory=list)
    rewritten_files: int = 0
    added_files: int = 0
    rewritten_bytes: int = 0
    failed: int = 0
    """Partitions that could not be compacted, because others changed them again and again or a store was down."""
    expired: int = 0
    """Snapshots that were expired."""

    def add(self, need: Need, facts: Mapping[str, Any]) -> None:
        """Count one partition."""
        counts = {key: int(facts.get(key, 0)) for key in ("rewritten_files", "added_files", "rewritten_bytes")}
        self.rewritten_files += counts["rewritten_files"]
        self.added_files += counts["added_files"]
        self.rewritten_bytes += counts["rewritten_bytes"]
        self.partitions.append({"partition": need.name, "reasons": list(need.reasons), **counts})


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
    _last: TableHealth | None = None
    _tried: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """What each partition had before it was compacted: one that still has that is left alone."""
    _failed: set[str] = field(default_factory=set)
    """Partitions whose last compaction failed for a reason that may go away."""
    _expired: float | None = None
    """When snapshots were last expired."""
    _manifests_left: int = 0
    """How many manifests the last merge left: a large table needs many."""

    def look(self) -> tuple[TableHealth, tuple[Need, ...]]:
        """The table as it is now, and what it needs; what was tried without effect is not among it.

        What failed comes last, so that no partition keeps the others waiting.
        """
        known = self._last.head if self._last else None
        found = self.lake.health(self.table, self.upkeep.thresholds.small_file_bytes, known) or self._last
        if found is None:
            raise AssertionError("a table is known from the first look on")
        self._last = found
        now = {Need(each, ()).name: _content(each) for each in found.partitions}
        self._tried = {name: before for name, before in self._tried.items() if now.get(name) == before}
        needs = needs_of(found, self.upkeep.thresholds, self.clock(), self.wanted)
        due = (need for need in needs if need.name not in self._tried)
        return found, tuple(sorted(due, key=lambda need: need.name in self._failed))

    def batch(self) -> Done:
        """Compact everything that needs it now; then expire what the table's writers leave to the compaction."""
        found, needs = self.look()
        done = set[str]()
        while needs and not self.stop.is_set():
            for need in needs:
                if not self.compact(need, comes_again=False):
                    break
                done.add(need.name)  # once: whatever comes meanwhile is for the next compaction
            self.forget()
            found, later = self.look()
            needs = tuple(need for need in later if need.name not in done)
        if not self.stop.is_set():
            self.tidy(found, expire_now=True)
        return self.done

    def continuous(self, every: float = LOOK_SECONDS) -> Done:
        """Follow the table until somebody stops it; partitions that are being written come later."""
        while not self.stop.is_set():
            try:
                worked = self._step()
            except EngineLost:
                raise
            except Retryable as error:
                self.tell(f"{self.table.address} is looked at again later: {paragraph(error)}")
                worked = False
            if not worked:
                self.stop.wait(every)
        return self.done

    def _step(self) -> bool:
        """Compact the partition that needs it most; False if there is none, or if it failed.

        One at a time: what comes next is decided by what the table is then.
        """
        found, needs = self.look()
        due = [need for need in needs if not need.busy]
        if due:
            self.compact(due[0], comes_again=True)
            self.forget()
        if not self.stop.is_set():
            self.tidy(found, expire_now=len(due) == 1)
        return bool(due) and due[0].name not in self._failed

    def compact(self, need: Need, *, comes_again: bool) -> bool:
        """Compact one partition; False if the compaction was stopped before it.

        `comes_again` says that what fails now is tried again without anybody doing anything.
        """
        self.yield_to_writers()
        if self.stop.is_set():
            return False
        self.check()
        self._tried[need.name] = _content(need.health)
        try:
            facts = self.lake.maintain(self.table, self._rewrite(need), by=self.by, dry_run=False)
        except EngineLost:
            raise
        except Retryable as error:
            self.done.failed += 1
            self._failed.add(need.name)
            del self._tried[need.name]  # it may work next time, although nothing has changed
            known = error if error.hint or comes_again else error.changed(hint="compact the table again")
            outcome = "is compacted later" if comes_again else "was not compacted"
            self.tell(f"{self.table.address} {need.name} {outcome}: {paragraph(known)}")
            return True
        self._failed.discard(need.name)
        self.done.add(need, facts)
        self.tell(_told(self.table, need, facts))
        return True

    def is_untidy(self, found: TableHealth) -> bool:
        """Whether the table has something to do that concerns no single partition."""
        return self._has_many_manifests(found) or (self._expires(found) and self._expiry_is_due())

    def tidy(self, found: TableHealth, *, expire_now: bool = False) -> None:
        """Merge manifests if there are many, and expire snapshots, now or if that was long ago."""
        if self._has_many_manifests(found):
            self._merge_manifests(found)
        if self._expires(found) and (expire_now or self._expiry_is_due()):
            self._expire()

    def _has_many_manifests(self, found: TableHealth) -> bool:
        many = (found.manifests or 0) - self._manifests_left >= MANY_MANIFESTS
        return many and self._supports("rewrite_manifest")

    def _expires(self, found: TableHealth) -> bool:
        """Whether the compaction has to expire the snapshots of the table."""
        return (found.write_only or self.upkeep.retention is not None) and self._supports("expire_snapshots")

    def _expiry_is_due(self) -> bool:
        return self._expired is None or self.clock() - self._expired >= EXPIRE_SECONDS

    def _supports(self, operation: str) -> bool:
        return traits_of(self.table.format).supports(operation, self.table.format)

    def _merge_manifests(self, found: TableHealth) -> None:
        """Merge manifests; if others are quicker, that is left to the next compaction."""
        self.yield_to_writers()
        self.check()
        try:
            facts = self.lake.maintain(self.table, RewriteManifests(), by=self.by, dry_run=False)
        except EngineLost:
            raise
        except Retryable as error:
            self.tell(f"{self.table.address}: the next compaction merges its manifests: {paragraph(error)}")
            return
        gone, new = int(facts.get("rewritten_manifests", 0)), int(facts.get("added_manifests", 0))
        self._manifests_left = (found.manifests or 0) - gone + new
        self.forget()
        self.tell(f"{self.table.address}: {gone} manifests became {new}")

    def _expire(self) -> None:
        """Expire snapshots; what others still need stays."""
        self.check()
        self._expired, retention = self.clock(), self.upkeep.retention
        before = None if retention is None else int((self.clock() - retention) * 1000)
        facts = self.lake.maintain(self.table, Expire(before), by=self.by, dry_run=False)
        gone, files = len(facts.get("snapshots", ())), int(facts.get("removed_files", 0))
        self.done.expired += gone
        if gone:
            self.tell(f"{self.table.address}: {gone} snapshots expired")
        elif files:
            self.tell(f"{self.table.address}: {files} old files removed")

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


def _told(table: Dataset, need: Need, facts: Mapping[str, Any]) -> str:
    files = f"{facts.get('rewritten_files', 0)} files became {facts.get('added_files', 0)}"
    return f"{table.address} {need.name}: {files} ({'; '.join(need.reasons)})"
