"""Tables by hand: changes and maintenance that people ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from catchment.errors import JobError, RequestError
from catchment.formats.registry import supporting, traits_of
from catchment.plan.changes import of_change
from catchment.plan.datasets import of_input
from catchment.plan.model import Maintenance
from catchment.project import depots
from catchment.project.model import Project
from catchment.run.engine_pool import Launch
from catchment.run.inspection import check_depot, request_error
from catchment.run.lake import LakeSession, Tell
from catchment.spec.model import ChangeName
from catchment.who import who


def change(
    project: Project,
    address: str,
    name: ChangeName,
    arguments: Mapping[str, Any],
    *,
    dry_run: bool = False,
    agree: Callable[[Mapping[str, Any]], None] | None = None,
    tell: Tell = lambda _: None,
    launch: Launch | None = None,
) -> Mapping[str, Any]:
    """Change a table, or look what that would come to; `agree` is shown that first, and raises if it does not."""
    plan = of_change(address, name, arguments, project)
    check_depot(project, plan.dataset.depot)
    with LakeSession(project, tables={plan.dataset.depot}, tell=tell, launch=launch) as reader:
        if agree is not None and not dry_run:
            agree(reader.change(plan, by=who(), dry_run=True))
        return reader.change(plan, by=who(), dry_run=dry_run)


def drop(
    project: Project,
    address: str,
    *,
    dry_run: bool = False,
    agree: Callable[[Mapping[str, Any]], None] | None = None,
    tell: Tell = lambda _: None,
    launch: Launch | None = None,
) -> Mapping[str, Any]:
    """Drop a table with its files; `agree` is shown what goes, and raises if it does not.

    A table that has taken the place of the one that was shown is not dropped.
    """
    table = of_input(address, None, project)
    if not traits_of(table.format).drops:
        raise RequestError(
            f"`{table.address}` is of format {table.format}, and cannot be dropped",
            code="unsupported-change",
            hint=f"it works on {supporting('drops')}; files are removed with the tools of their store",
        )
    check_depot(project, table.depot)
    published = depots.find(project, table.depot).publish
    with LakeSession(project, tables={table.depot}, tell=tell, launch=launch) as reader:
        if agree is None or dry_run:
            return reader.drop(table, published, dry_run=dry_run)
        shown = reader.drop(table, published, dry_run=True)
        agree(shown)
        return reader.drop(table, published, expected=str(shown["table_id"]), dry_run=False)


_VERBS: Mapping[str, str] = {
    "rewrite_dataset": "compact",
    "rewrite_manifest": "rewrite the manifests of",
    "expire_snapshots": "expire snapshots of",
    "remove_orphans": "remove orphans of",
}
"""What people call the operations."""

Agree = Callable[[Mapping[str, Any]], bool]
"""Asked before anything goes, with what would go."""


def maintain(
    project: Project,
    address: str,
    operation: Maintenance,
    *,
    dry_run: bool = False,
    agree: Agree | None = None,
    tell: Tell = lambda _: None,
    launch: Launch | None = None,
) -> Mapping[str, Any] | None:
    """Look after a table; None where somebody was asked and did not agree."""
    table = of_input(address, None, project)
    if not traits_of(table.format).supports(operation.kind, table.format):
        able = supporting("operations", operation.kind)
        raise RequestError(
            f"not supported yet: to {_VERBS[operation.kind]} `{table.address}`, whose format is {table.format}",
            code="unsupported-actions",
            hint=f"this works on {able}; for other formats, use their own tools",
        )
    check_depot(project, table.depot)
    with LakeSession(project, tables={table.depot}, tell=tell, launch=launch) as reader:
        if dry_run or agree:
            looked = reader.maintain(table, operation, by=who(), dry_run=True)
            if dry_run:
                return looked
            if agree and not agree(looked):
                return None
        try:
            return reader.maintain(table, operation, by=who(), dry_run=False)
        except JobError as error:
            raise request_error(error) from error
