"""Which snapshots of a table may be forgotten, by its metadata (JSON of the table spec) alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catchment.errors import JobError
from catchment.plan.model import Expire

Metadata = Mapping[str, Any]
DAY_MS = 24 * 60 * 60 * 1000
MAX_AGE = "history.expire.max-snapshot-age-ms"


@dataclass(frozen=True)
class History:
    """The snapshots of a table and what leads to them."""

    metadata: Metadata

    @property
    def snapshots(self) -> dict[int, Mapping[str, Any]]:
        """By id, oldest first."""
        return {int(entry["snapshot-id"]): entry for entry in self.metadata.get("snapshots", ())}

    @property
    def refs(self) -> dict[str, Mapping[str, Any]]:
        """Branches and tags by name."""
        return dict(self.metadata.get("refs", {}))

    def line(self, ref: Mapping[str, Any]) -> list[int]:
        """The head of a branch and its ancestors, as far as the history goes, newest first."""
        known, found = self.snapshots, []
        at: int | None = int(ref["snapshot-id"])
        while at is not None and at in known:
            found.append(at)
            at = known[at].get("parent-snapshot-id")
        return found

    def time(self, snapshot: int) -> int:
        """When a snapshot was made, in milliseconds since 1970."""
        return int(self.snapshots[snapshot]["timestamp-ms"])

    def expired(self, deed: Expire, now: int) -> tuple[int, ...]:
        """What may go by the deed's and the table's own rules, oldest first."""
        kept = {snapshot for name in self.refs for snapshot in self._kept(name, deed, now)}
        if deed.snapshot_ids:
            return self._named(deed, kept)
        before, on_a_line = self._before(deed, now), {s for ref in self.refs.values() for s in self.line(ref)}
        lost = (s for s in self.snapshots if s not in on_a_line)  # rolled back, or staged and never published
        kept |= {snapshot for snapshot in lost if self.time(snapshot) >= before}
        return tuple(snapshot for snapshot in self.snapshots if snapshot not in kept)

    def by_own_rule(self, now: int) -> frozenset[int]:
        """What Iceberg takes whatever it is asked for, because a branch has rules of its own."""
        ruled = [name for name, ref in self.refs.items() if {"max-snapshot-age-ms", "min-snapshots-to-keep"} & {*ref}]
        keepers = Expire(before=0)
        lines = {snapshot for name in ruled for snapshot in self.line(self.refs[name])}
        return frozenset(lines - {snapshot for name in self.refs for snapshot in self._kept(name, keepers, now)})

    def current_since(self, moment: int) -> frozenset[int]:
        """Everything that was, at any time since a moment, what readers of some branch saw."""
        seen = {snapshot for snapshot in self.snapshots if self.time(snapshot) > moment}
        for ref in self.refs.values():
            seen.update([snapshot for snapshot in self.line(ref) if self.time(snapshot) <= moment][:1])
        return frozenset((seen | self._logged_since(moment)) & {*self.snapshots})

    def after(self, snapshot: int) -> frozenset[int]:
        """A snapshot and all that came of it, on whatever branch: nobody can go on from it with less."""
        found = {snapshot} & {*self.snapshots}
        for each, entry in self.snapshots.items():  # a parent stands before its children
            if entry.get("parent-snapshot-id") in found:
                found.add(each)
        return frozenset(found)

    def _logged_since(self, moment: int) -> set[int]:
        """The same of main by its log, which knows also what was rolled back."""
        log = [
            (int(entry["timestamp-ms"]), int(entry["snapshot-id"])) for entry in self.metadata.get("snapshot-log", ())
        ]
        later = [snapshot for at, snapshot in log if at > moment]
        return {*later, *[snapshot for at, snapshot in log if at <= moment][-1:]}

    def _kept(self, name: str, deed: Expire, now: int) -> set[int]:
        ref = self.refs[name]
        line = self.line(ref)
        if ref["type"] != "branch":
            return set(line[:1])
        least = int(ref.get("min-snapshots-to-keep") or deed.retain_last)
        age = ref.get("max-snapshot-age-ms")
        before = self._before(deed, now) if age is None else now - int(age)
        young = () if deed.snapshot_ids else (snapshot for snapshot in line if self.time(snapshot) >= before)
        return {*line[:least], *young}

    def _before(self, deed: Expire, now: int) -> int:
        age = int(self.metadata.get("properties", {}).get(MAX_AGE, 5 * DAY_MS))
        return now - age if deed.before is None else deed.before

    def _named(self, deed: Expire, kept: set[int]) -> tuple[int, ...]:
        for snapshot in deed.snapshot_ids:
            if snapshot not in self.snapshots:
                raise JobError(
                    f"there is no snapshot {snapshot}",
                    code="snapshot-not-found",
                    hint="`catchment table snapshots` lists them",
                )
            if snapshot in kept:
                refs = [name for name, ref in self.refs.items() if ref["snapshot-id"] == snapshot]
                why = f"the head of {', '.join(refs)}" if refs else f"one of the last {deed.retain_last}"
                raise JobError(
                    f"snapshot {snapshot} is {why}, and stays",
                    code="snapshot-in-use",
                    hint="name older ones, or drop the branch or tag first",
                )
        return tuple(snapshot for snapshot in self.snapshots if snapshot in deed.snapshot_ids)
