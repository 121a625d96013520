"""Expires snapshots that nobody needs, with the files that only they refer to."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from catchment.errors import CommitConflict, JobError
from catchment.formats.iceberg import snapshot_lookup
from catchment.formats.iceberg.file_protection import require_removable
from catchment.formats.iceberg.java import tables
from catchment.formats.iceberg.maintenance.compaction import retry_conflicts
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.maintenance.procedures import call
from catchment.formats.iceberg.maintenance.retention import published_retention, publishing_lease
from catchment.formats.model import Follower, MaintenanceResult
from catchment.plan.model import Expire
from catchment.run_model import snapshot_name
from catchment.store.in_flight import CLOCKS_APART_SECONDS

Metadata = Mapping[str, Any]
DAY_MS = 24 * 60 * 60 * 1000
FILES = "total-data-files"
MANY_FILES, MANY_SNAPSHOTS = 100_000, 10_000
"""With this many files in a snapshot, or this many snapshots, Spark runs the expiry instead of the driver."""
DELETES = 8
"""How many files are removed at the same time by default."""
MAX_AGE = "history.expire.max-snapshot-age-ms"


@dataclass(frozen=True)
class History:
    """The snapshots of a table, with its branches and tags."""

    metadata: Metadata

    @property
    def snapshots(self) -> dict[int, Mapping[str, Any]]:
        """By id, oldest first."""
        return {int(entry["snapshot-id"]): entry for entry in self.metadata.get("snapshots", ())}

    @property
    def refs(self) -> dict[str, Mapping[str, Any]]:
        """Branches and tags by name."""
        return dict(self.metadata.get("refs", {}))

    @property
    def is_small(self) -> bool:
        """Whether the files of all snapshots fit into memory; False if a snapshot does not say how many it has."""
        counts = (entry.get("summary", {}).get(FILES) for entry in self.snapshots.values())
        known = [int(count) if count is not None else MANY_FILES for count in counts]
        return len(known) < MANY_SNAPSHOTS and max(known, default=0) < MANY_FILES

    def line(self, ref: Mapping[str, Any]) -> list[int]:
        """The head of a branch and its ancestors that still exist, newest first."""
        known, found = self.snapshots, []
        at: int | None = int(ref["snapshot-id"])
        while at is not None and at in known:
            found.append(at)
            at = known[at].get("parent-snapshot-id")
        return found

    def time(self, snapshot: int) -> int:
        """When a snapshot was committed, in milliseconds since 1970."""
        return int(self.snapshots[snapshot]["timestamp-ms"])

    def expired(self, operation: Expire, now: int) -> tuple[int, ...]:
        """The snapshots that expire by the rules of the operation and the table, oldest first."""
        kept = {snapshot for name in self.refs for snapshot in self._kept(name, operation, now)}
        if operation.snapshot_ids:
            return self._named(operation, kept)
        before, on_a_line = self._before(operation, now), {s for ref in self.refs.values() for s in self.line(ref)}
        lost = (s for s in self.snapshots if s not in on_a_line)  # rolled back, or never published
        kept |= {snapshot for snapshot in lost if self.time(snapshot) >= before}
        return tuple(snapshot for snapshot in self.snapshots if snapshot not in kept)

    def by_own_rule(self, now: int) -> frozenset[int]:
        """The snapshots that Iceberg expires in any case, because a branch has retention rules of its own."""
        ruled = [name for name, ref in self.refs.items() if {"max-snapshot-age-ms", "min-snapshots-to-keep"} & {*ref}]
        keepers = Expire(before=0)
        lines = {snapshot for name in ruled for snapshot in self.line(self.refs[name])}
        return frozenset(lines - {snapshot for name in self.refs for snapshot in self._kept(name, keepers, now)})

    def current_since(self, moment: int) -> frozenset[int]:
        """All snapshots that were the head of a branch at any time since a moment."""
        seen = {snapshot for snapshot in self.snapshots if self.time(snapshot) > moment}
        for ref in self.refs.values():
            seen.update([snapshot for snapshot in self.line(ref) if self.time(snapshot) <= moment][:1])
        return frozenset((seen | self._logged_since(moment)) & {*self.snapshots})

    def after(self, snapshot: int) -> frozenset[int]:
        """A snapshot and all its descendants, which a reader needs to continue from it."""
        found = {snapshot} & {*self.snapshots}
        for each, entry in self.snapshots.items():  # parents come before their children
            if entry.get("parent-snapshot-id") in found:
                found.add(each)
        return frozenset(found)

    def _logged_since(self, moment: int) -> set[int]:
        """The same for main from the snapshot log, which also has snapshots that were rolled back."""
        log = [
            (int(entry["timestamp-ms"]), int(entry["snapshot-id"])) for entry in self.metadata.get("snapshot-log", ())
        ]
        later = [snapshot for at, snapshot in log if at > moment]
        return {*later, *[snapshot for at, snapshot in log if at <= moment][-1:]}

    def _kept(self, name: str, operation: Expire, now: int) -> set[int]:
        ref = self.refs[name]
        line = self.line(ref)
        if ref["type"] != "branch":
            return set(line[:1])
        least = int(ref.get("min-snapshots-to-keep") or operation.retain_last)
        age = ref.get("max-snapshot-age-ms")
        before = self._before(operation, now) if age is None else now - int(age)
        young = () if operation.snapshot_ids else (snapshot for snapshot in line if self.time(snapshot) >= before)
        return {*line[:least], *young}

    def _before(self, operation: Expire, now: int) -> int:
        age = int(self.metadata.get("properties", {}).get(MAX_AGE, 5 * DAY_MS))
        return now - age if operation.before is None else operation.before

    def _named(self, operation: Expire, kept: set[int]) -> tuple[int, ...]:
        named = tuple(map(int, operation.snapshot_ids))
        for snapshot in named:
            if snapshot not in self.snapshots:
                raise JobError(
                    f"there is no snapshot {snapshot}",
                    code="snapshot-not-found",
                    hint="`catchment table snapshots` lists them",
                )
            if snapshot in kept:
                refs = [name for name, ref in self.refs.items() if ref["snapshot-id"] == snapshot]
                why = f"the head of {', '.join(refs)}" if refs else f"one of the last {operation.retain_last}"
                raise JobError(
                    f"snapshot {snapshot} is {why} and cannot expire",
                    code="snapshot-in-use",
                    hint="name older snapshots, or delete the branch or tag first",
                )
        return tuple(snapshot for snapshot in self.snapshots if snapshot in named)


REASONS = {
    "writes": "unpublished writes began after them (`catchment recover` settles those of dead engines)",
    "readers": "running jobs or queries may read them",
    "published": "readers of the published catalog see them",
    "incremental": "incremental jobs have not read past them yet",
}


@dataclass(frozen=True)
class Choice:
    """The snapshots that an expiry removes, and those that it keeps."""

    history: History
    gone: tuple[int, ...]
    kept: Mapping[str, frozenset[int]]
    """Old snapshots that are still needed, by reason."""
    followers: tuple[Follower, ...]
    """The incremental jobs that need some of them."""

    def reasons(self) -> Iterator[str]:
        """Sentences about what is kept and why."""
        for reason, kept in self.kept.items():
            if kept:
                who = "".join(f"; {each}" for each in self.followers if reason == "incremental")
                yield f"{len(kept)} old snapshots are kept: {REASONS[reason]}{who}"

    def facts(self) -> dict[str, Any]:
        """The choice as a report."""
        return {
            "snapshots": [
                {"snapshot_id": snapshot_name(each), "committed_at": _iso_time(self.history.time(each))}
                for each in self.gone
            ],
            "kept": {reason: list(map(snapshot_name, sorted(kept))) for reason, kept in self.kept.items() if kept},
            "followers": [each.facts() for each in self.followers],
        }


def expire(maintained: MaintainedTable, operation: Expire) -> MaintenanceResult:
    """Expire snapshots of a table."""
    with publishing_lease(maintained):
        return retry_conflicts(maintained, lambda: _expire(maintained, operation))


def choose(maintained: MaintainedTable, operation: Expire) -> Choice:
    """Choose the snapshots that expire; raises if there are some and the table has to keep them."""
    # Writers and readers that begin after this point begin from the current heads, which are kept.
    maintained.table.refresh()
    found = History(json.loads(snapshot_lookup.metadata(maintained.spark, maintained.table)))
    now = int(time.time() * 1000)
    old = found.expired(operation, now)
    names = {str(snapshot): snapshot for snapshot in found.snapshots}
    following = {each: found.after(each.snapshot) for each in maintained.needs.followers(names)}
    reasons = {**_needs(maintained, found), "incremental": frozenset().union(*following.values())}
    needs = frozenset().union(*reasons.values())
    if lost := needs & found.by_own_rule(now):
        raise CommitConflict(
            f"{maintained.dataset.address}: a branch has its own rule for the age of snapshots, by which "
            f"Iceberg would expire {len(lost)} that are still needed",
            code="snapshots-needed",
            hint="try again when the jobs that need them are done; `catchment writers` lists the writers, "
            "`catchment state ls` the incremental jobs and their states",
        )
    gone = tuple(snapshot for snapshot in old if snapshot not in needs)
    if gone:
        require_removable(maintained.table, maintained.dataset.address)
    return Choice(
        found,
        gone,
        {reason: ids & {*old} for reason, ids in reasons.items()},
        tuple(each for each, ids in following.items() if ids & {*old}),
    )


def _expire(maintained: MaintainedTable, operation: Expire) -> MaintenanceResult:
    choice = choose(maintained, operation)
    for reason in choice.reasons():
        maintained.listener.warn(f"{maintained.dataset.address}: {reason}")
    if not choice.gone:
        return MaintenanceResult(facts={**choice.facts(), "removed_files": 0})
    in_driver = choice.history.is_small and not operation.stream
    removed = (_in_driver if in_driver else _in_executors)(maintained, operation, choice)
    return MaintenanceResult(removed, facts={**choice.facts(), "removed_files": removed})


def _in_driver(maintained: MaintainedTable, operation: Expire, choice: Choice) -> int:
    """Expire with Iceberg's own API, which compares the manifests in one process; returns the number of removed files.

    For a hundred snapshots it takes half a second of CPU time. The procedure, which runs Spark jobs, takes sixteen.
    """
    ids = ",".join(map(str, choice.gone))
    return int(tables(maintained.spark).expire(maintained.table, ids, operation.deletes or DELETES))


def _in_executors(maintained: MaintainedTable, operation: Expire, choice: Choice) -> int:
    """The same with Iceberg's procedure, for tables with more files than one process should keep in memory."""
    done = call(
        maintained.spark,
        maintained.dataset,
        "expire_snapshots",
        snapshot_ids=choice.gone,
        older_than=datetime.fromtimestamp(0, tz=timezone.utc),  # expire nothing by age
        max_concurrent_deletes=operation.deletes,
        stream_results=operation.stream,
    ).asDict()
    return sum(int(count or 0) for count in done.values())


def _needs(maintained: MaintainedTable, found: History) -> dict[str, frozenset[int]]:
    waiting = maintained.needs.writes(str(maintained.table.uuid()))
    readers = maintained.needs.readers_since()
    since = None if readers is None else int((readers - CLOCKS_APART_SECONDS) * 1000)
    later = {
        snapshot
        for snapshot, entry in found.snapshots.items()
        if waiting.sequence is not None and int(entry.get("sequence-number", 0)) > waiting.sequence
    }
    return {
        "writes": frozenset(later | waiting.snapshots),
        "readers": found.current_since(since) if since is not None else frozenset(),
        "published": published_retention(maintained).snapshots,
    }


def _iso_time(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000, tz=timezone.utc).isoformat(timespec="milliseconds")
