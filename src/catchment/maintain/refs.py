"""Changes of tags and branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from pyspark.sql import SparkSession

from catchment.commit.table import MAIN
from catchment.errors import JobError
from catchment.formats.iceberg.branches import look
from catchment.formats.iceberg.lines import current, snapshot_of
from catchment.maintain.model import Arguments, Kind, Metadata, Staged

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


def _view(kind: RefKind, metadata: Metadata, arguments: Arguments) -> int | None:
    found = metadata.get("refs", {}).get(arguments[kind])
    return found and int(found["snapshot-id"])


def _forward(spark: SparkSession, transaction: Any, metadata: Metadata, arguments: Arguments) -> None:
    to = arguments.get("to", MAIN)
    forward = look(metadata, arguments["branch"], to)
    if forward.commits:
        manage = transaction.manageSnapshots()
        move = manage.createBranch if forward.before is None else manage.replaceBranch
        move(to, forward.after).commit()


def _target(metadata: Metadata, arguments: Arguments) -> int | None:
    found = metadata.get("refs", {}).get(arguments.get("to", MAIN))
    return found and int(found["snapshot-id"])


def _commits(staged: Staged, arguments: Arguments) -> Mapping[str, Any]:
    forward = look(staged.before, arguments["branch"], arguments.get("to", MAIN))
    return {"branch": forward.branch, "to": forward.to, "commits": list(forward.commits)}


def _kinds(kind: RefKind) -> tuple[Kind, Kind]:
    view: Callable[[Metadata, Arguments], Any] = partial(_view, kind)
    return Kind(partial(_create, kind), view), Kind(partial(_delete, kind), view)


TAG_CREATE, TAG_DELETE = _kinds("tag")
BRANCH_CREATE, BRANCH_DELETE = _kinds("branch")
FAST_FORWARD = Kind(_forward, _target, _commits)
