"""Expiry: snapshots go that nobody needs, and with them the files that only they refer to.

Which ones is decided here, and Iceberg is given their ids: a snapshot that becomes old meanwhile is not among them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from catchment.commit.needed import CLOCKS_APART_SECONDS, needed
from catchment.errors import CommitConflict
from catchment.formats.iceberg import history
from catchment.maintain.expiry import History
from catchment.maintain.followers import Follower, followers
from catchment.maintain.model import Upkeep, Ward
from catchment.maintain.procedures import call
from catchment.maintain.rewriting import unhurried
from catchment.maintain.shown import shown, undisturbed
from catchment.plan.model import Expire

REASONS = {
    "writes": "writes that are not published yet began after them (`catchment recover` ends those of lost engines)",
    "readers": "jobs or queries that run now may read them",
    "published": "readers of the published catalog see them",
    "incremental": "incremental jobs have not read on from there yet",
}


@dataclass(frozen=True)
class Choice:
    """What an expiry would do."""

    history: History
    gone: tuple[int, ...]
    kept: Mapping[str, frozenset[int]]
    """By reason: what would go by its age, and is needed."""
    followers: tuple[Follower, ...]
    """The incremental jobs that need some of it."""

    def reasons(self) -> Iterator[str]:
        """In words, what is kept and why."""
        for reason, kept in self.kept.items():
            if kept:
                who = "".join(f"; {each}" for each in self.followers if reason == "incremental")
                yield f"{len(kept)} old snapshots are kept: {REASONS[reason]}{who}"

    def facts(self) -> dict[str, Any]:
        """For people."""
        return {
            "snapshots": [{"snapshot_id": each, "committed_at": _told(self.history.time(each))} for each in self.gone],
            "kept": {reason: sorted(kept) for reason, kept in self.kept.items() if kept},
            "followers": [each.facts() for each in self.followers],
        }


def expire(ward: Ward, deed: Expire) -> Upkeep:
    """Expire snapshots of a table."""
    with undisturbed(ward):
        return unhurried(ward, lambda: _expire(ward, deed))


def choose(ward: Ward, deed: Expire) -> Choice:
    """Look which snapshots would go."""
    # Who begins to write or to read after this look begins from what is current now, and that stays.
    ward.table.refresh()
    found = History(json.loads(history.metadata(ward.spark, ward.table)))
    now = int(time.time() * 1000)
    old = found.expired(deed, now)
    following = {each: found.after(each.snapshot) for each in followers(ward.writer.store.states, found.snapshots)}
    reasons = {**_needs(ward, found), "incremental": frozenset().union(*following.values())}
    needs = frozenset().union(*reasons.values())
    if lost := needs & found.by_own_rule(now):
        raise CommitConflict(
            f"{ward.dataset.address}: a branch has a rule of its own for the age of snapshots, and by it Iceberg would "
            f"expire {len(lost)} that are still needed",
            code="snapshots-needed",
            hint="try again when the jobs that need them are done; `catchment writers` shows who writes, "
            "`catchment state ls` which incremental jobs go on from where",
        )
    return Choice(
        found,
        tuple(snapshot for snapshot in old if snapshot not in needs),
        {reason: ids & {*old} for reason, ids in reasons.items()},
        tuple(each for each, ids in following.items() if ids & {*old}),
    )


def _expire(ward: Ward, deed: Expire) -> Upkeep:
    choice = choose(ward, deed)
    for reason in choice.reasons():
        ward.listener.warn(f"{ward.dataset.address}: {reason}")
    if not choice.gone:
        return Upkeep(facts={**choice.facts(), "removed_files": 0})
    done = call(
        ward.spark,
        ward.dataset,
        "expire_snapshots",
        snapshot_ids=choice.gone,
        older_than=datetime.fromtimestamp(0, tz=timezone.utc),  # by age nothing goes
        max_concurrent_deletes=deed.deletes,
        stream_results=deed.stream,
    ).asDict()
    removed = sum(int(count or 0) for count in done.values())
    return Upkeep(removed, facts={**choice.facts(), "removed_files": removed})


def _needs(ward: Ward, found: History) -> dict[str, frozenset[int]]:
    waiting = needed(ward.writer.store.database, ward.dataset.address)
    readers = ward.writer.store.readers.oldest()
    since = None if readers is None else int((readers - CLOCKS_APART_SECONDS) * 1000)
    later = {
        snapshot
        for snapshot, entry in found.snapshots.items()
        if waiting.sequence is not None and int(entry.get("sequence-number", 0)) > waiting.sequence
    }
    return {
        "writes": frozenset(later | waiting.snapshots),
        "readers": found.current_since(since) if since is not None else frozenset(),
        "published": shown(ward).snapshots,
    }


def _told(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000, tz=timezone.utc).isoformat(timespec="milliseconds")
