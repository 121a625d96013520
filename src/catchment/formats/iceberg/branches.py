"""Branches of a table: where a write goes that nobody shall see yet, and how it gets to where everybody looks.

A branch is brought forward by one compare-and-swap of the very metadata that was looked at. Whoever loses the swap
looks again: what others have committed in between must not be lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.jvm import Jvm
from catchment.commit.table import MAIN
from catchment.commit.writer import Listener
from catchment.engine.jvm import is_a
from catchment.errors import CommitConflict, JobError
from catchment.formats.iceberg.catalogs import EXCEPTIONS, Table

FAST_FORWARDED = "catchment.fast-forwarded"
"""The property of a table that says who brought which branch forward last, and when."""
NOT_SWAPPED = tuple(f"{EXCEPTIONS}{name}Exception" for name in ("CommitFailed", "CommitStateUnknown"))
MOST_LOOKS = 20


@dataclass(frozen=True)
class Forward:
    """One branch on its way to the head of another."""

    branch: str
    to: str
    before: int | None
    """Where `to` was; None where it had no commit yet."""
    after: int
    commits: tuple[int, ...]
    """The snapshots that come with it, oldest first; none where `to` had them all."""


def ensure_branch(table: Table, address: str, branch: str, listener: Listener) -> None:
    """Make a branch that is missing, at the head of main: what is written there has main's past."""
    if branch == MAIN or table.refs().containsKey(branch):
        return
    head, update = table.currentSnapshot(), table.manageSnapshots()
    try:
        (update.createBranch(branch, head.snapshotId()) if head is not None else update.createBranch(branch)).commit()
    except Exception:
        # Two jobs may make it at once; how the loser learns that depends on the catalog, so look again.
        table.refresh()
        if not table.refs().containsKey(branch):
            raise
        return
    table.refresh()
    if table.refs().containsKey(branch):  # not every catalog keeps branches; whoever writes to it tells
        listener.warn(f"{address} had no branch {branch}: it begins at the head of main")


def fast_forward(spark: SparkSession, table: Table, branch: str, to: str, by: str | None) -> Forward:
    """Bring the branch `to` to the head of another that has all of its commits; without `by`, only look."""
    for _ in range(MOST_LOOKS):
        table.refresh()
        base = table.operations().current()
        text = str(Jvm.of(spark).iceberg("TableMetadataParser").toJson(base))
        forward = look(json.loads(text), branch, to)
        if by is None or not forward.commits:
            return forward
        try:
            table.operations().commit(base, _moved(spark, base, forward, by))
        except Exception as error:
            if not is_a(error, *NOT_SWAPPED):
                raise
        else:
            return forward
    raise CommitConflict(
        f"others commit to the table all the time: {to} could not be brought forward",
        hint="try again when fewer jobs write to it",
    )


def look(metadata: Mapping[str, Any], branch: str, to: str) -> Forward:
    """What bringing a branch forward means, by a table's metadata; an error where commits would be lost."""
    after = _head(metadata, branch)
    before = _head(metadata, to) if to != MAIN or MAIN in metadata.get("refs", {}) else None
    theirs, ours = _line(metadata, after), _line(metadata, before)
    if after in ours:
        return Forward(branch, to, before, ours[-1], ())
    if before is not None and before not in theirs:
        lost = len(set(ours) - set(theirs))
        raise JobError(
            f"{to} has {lost} commits that {branch} does not have, the last of them snapshot {before}",
            code="branch-diverged",
            hint=f"drop {branch} (ALTER TABLE … DROP BRANCH {branch}) and run the jobs again: it begins at {to} anew",
        )
    commits = theirs if before is None else theirs[theirs.index(before) + 1 :]
    return Forward(branch, to, before, after, tuple(commits))


def _head(metadata: Mapping[str, Any], branch: str) -> int:
    refs = metadata.get("refs", {})
    if branch not in refs or refs[branch]["type"] != "branch":
        known = ", ".join(sorted(name for name, ref in refs.items() if ref["type"] == "branch"))
        raise JobError(
            f"the table has no branch {branch}",
            code="branch-not-found",
            hint=f"its branches are {known}" if known else "nothing was written to it yet",
        )
    return int(refs[branch]["snapshot-id"])


def _line(metadata: Mapping[str, Any], head: int | None) -> list[int]:
    """A snapshot and its ancestors, as far as the history goes, oldest first."""
    parents = {entry["snapshot-id"]: entry.get("parent-snapshot-id") for entry in metadata.get("snapshots", ())}
    line: list[int] = []
    while head is not None and head in parents:
        line.append(head)
        head = parents[head]
    return line[::-1]


def _moved(spark: SparkSession, base: Any, forward: Forward, by: str) -> Any:
    """The metadata with the branch moved, and who did it."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    said = {"branch": forward.branch, "to": forward.to, "snapshot_id": forward.after, "by": by, "at": now}
    jvm = Jvm.of(spark)
    properties = jvm("java.util.HashMap")()
    properties.put(FAST_FORWARDED, json.dumps(said))
    builder = jvm.iceberg("TableMetadata").buildFrom(base).setProperties(properties)
    return builder.setBranchSnapshot(forward.after, forward.to).build()
