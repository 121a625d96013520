"""Branches of a table: where a write goes that nobody shall see yet, and what it means to bring one forward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catchment.commit.table import MAIN
from catchment.commit.writer import Listener
from catchment.errors import JobError
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.lines import branch_head, line


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


def look(metadata: Mapping[str, Any], branch: str, to: str) -> Forward:
    """What bringing a branch forward means, by a table's metadata; an error where commits would be lost."""
    after = branch_head(metadata, branch)
    before = branch_head(metadata, to) if to != MAIN or MAIN in metadata.get("refs", {}) else None
    theirs, ours = line(metadata, after), line(metadata, before)
    if after in ours:
        return Forward(branch, to, before, ours[-1], ())
    if before is not None and before not in theirs:
        lost = len(set(ours) - set(theirs))
        raise JobError(
            f"{to} has {lost} commits that {branch} does not have, the last of them snapshot {before}",
            code="branch-diverged",
            hint=f"drop {branch} (`catchment table branch delete`) and run the jobs again: it begins at {to} anew",
        )
    commits = theirs if before is None else theirs[theirs.index(before) + 1 :]
    return Forward(branch, to, before, after, tuple(commits))
