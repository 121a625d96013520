"""Branches and tags: create, delete and fast-forward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pyspark.sql import SparkSession

from catchment.commit.listener import Listener
from catchment.errors import JobError
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.changes.model import Arguments, Kind, Metadata, Staged
from catchment.formats.iceberg.snapshots import branch_head, current, line, snapshot_of
from catchment.formats.iceberg.table import MAIN
from catchment.run_model import snapshot_name


@dataclass(frozen=True)
class FastForward:
    """Moves the branch `to` forward to the head of `branch`."""

    branch: str
    to: str
    before: int | None
    """The head of `to` before; None if it had no commit yet."""
    after: int
    commits: tuple[int, ...]
    """The snapshots that `to` gains, oldest first; empty if it has them already."""


def ensure_branch(table: Table, address: str, branch: str, listener: Listener) -> None:
    """Create a missing branch at the head of main."""
    if branch == MAIN or table.refs().containsKey(branch):
        return
    head, update = table.currentSnapshot(), table.manageSnapshots()
    try:
        (update.createBranch(branch, head.snapshotId()) if head is not None else update.createBranch(branch)).commit()
    except Exception:
        # Two jobs may create it at the same time. The error of the second one depends on the catalog, so check again.
        table.refresh()
        if not table.refs().containsKey(branch):
            raise
        return
    table.refresh()
    if table.refs().containsKey(branch):  # not every catalog keeps branches; the write itself then fails
        listener.warn(f"{address} had no branch {branch}: created it at the head of main")


def plan_forward(metadata: Mapping[str, Any], branch: str, to: str) -> FastForward:
    """Compute a fast-forward from a table's metadata; raises if commits would be lost."""
    after = branch_head(metadata, branch)
    before = branch_head(metadata, to) if to != MAIN or MAIN in metadata.get("refs", {}) else None
    theirs, ours = line(metadata, after), line(metadata, before)
    if after in ours:
        return FastForward(branch, to, before, ours[-1], ())
    if before is not None and before not in theirs:
        lost = len(set(ours) - set(theirs))
        raise JobError(
            f"{to} has {lost} commits that {branch} does not have, the last of them snapshot {before}",
            code="branch-diverged",
            hint=f"delete {branch} (`catchment table branch delete`) and run the jobs again: it then starts from {to}",
        )
    commits = theirs if before is None else theirs[theirs.index(before) + 1 :]
    return FastForward(branch, to, before, after, tuple(commits))


RefKind = Literal["tag", "branch"]
NOT_FOUND: Mapping[RefKind, str] = {"tag": "tag-not-found", "branch": "branch-not-found"}


def _create(kind: RefKind, spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    name, found = arguments[kind], metadata.get("refs", {}).get(arguments[kind])
    head = snapshot_of(metadata, arguments.get("snapshot", current(metadata)))
    if found is not None and (found["type"], found["snapshot-id"]) != (kind, head):
        raise JobError(
            f"the table has a {found['type']} {name} already, at snapshot {found['snapshot-id']}",
            code="ref-exists",
            hint="choose another name, or delete it first",
        )
    if found is None:
        manage = transaction.manageSnapshots()
        create = manage.createTag if kind == "tag" else manage.createBranch
        create(name, head).commit()


def _delete(kind: RefKind, spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    name, refs = arguments[kind], metadata.get("refs", {})
    if name not in refs or refs[name]["type"] != kind:
        known = ", ".join(sorted(each for each, ref in refs.items() if ref["type"] == kind))
        raise JobError(
            f"the table has no {kind} {name}",
            code=NOT_FOUND[kind],
            hint=f"it has {known}" if known else f"it has no {kind} at all",
        )
    manage = transaction.manageSnapshots()
    (manage.removeTag if kind == "tag" else manage.removeBranch)(name).commit()


def _view(kind: RefKind, metadata: Metadata, arguments: Arguments) -> str | None:
    found = metadata.get("refs", {}).get(arguments[kind])
    return found and snapshot_name(found["snapshot-id"])


def _forward(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    to = arguments.get("to", MAIN)
    forward = plan_forward(metadata, arguments["branch"], to)
    if forward.commits:
        manage = transaction.manageSnapshots()
        move = manage.createBranch if forward.before is None else manage.replaceBranch
        move(to, forward.after).commit()


def _target(metadata: Metadata, arguments: Arguments) -> str | None:
    found = metadata.get("refs", {}).get(arguments.get("to", MAIN))
    return found and snapshot_name(found["snapshot-id"])


def _commits(staged: Staged, arguments: Arguments) -> Mapping[str, Any]:
    forward = plan_forward(staged.before, arguments["branch"], arguments.get("to", MAIN))
    return {"branch": forward.branch, "to": forward.to, "commits": list(map(snapshot_name, forward.commits))}


def _kinds(kind: RefKind) -> tuple[Kind, Kind]:
    view: Callable[[Metadata, Arguments], Any] = partial(_view, kind)
    return Kind(partial(_create, kind), view), Kind(partial(_delete, kind), view)


TAG_CREATE, TAG_DELETE = _kinds("tag")
BRANCH_CREATE, BRANCH_DELETE = _kinds("branch")
FAST_FORWARD = Kind(_forward, _target, _commits)
