"""Jobs of the toolbox: from the grammar to the canonical model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from catchment.spec.findings import Findings
from catchment.spec.grammar.toolbox import ToolboxAction, ToolboxSpec
from catchment.spec.model import ChangeName, Job, Toolbox, Transform
from catchment.spec.tree import MapNode, follow
from catchment.spec.validation import did_you_mean, parse

_OF_A_FIELD = ("asColumn", "numBuckets", "width")
NEEDS: Mapping[ChangeName, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "set_version": (("value",), ()),
    "rollback": ((), ("snapshot", "timestamp")),
    "set_snapshot": (("snapshot",), ()),
    "tag_create": (("tag",), ("snapshot",)),
    "tag_delete": (("tag",), ()),
    "branch_create": (("branch",), ("snapshot",)),
    "branch_delete": (("branch",), ()),
    "branch_fast_forward": (("branch",), ("to",)),
    "properties_set": (("properties",), ()),
    "properties_unset": (("names",), ()),
    "column_add": (("column", "type"), ("comment",)),
    "column_drop": (("column",), ()),
    "column_rename": (("column", "to"), ()),
    "column_widen": (("column", "type"), ()),
    "partition_add": (("type", "column"), _OF_A_FIELD),
    "partition_drop": (("field",), ()),
    "partition_replace": (("field", "type", "column"), _OF_A_FIELD),
}
"""What each change must be told, and what it may be told."""


def read_toolbox(job: Job | None, spec_node: MapNode, findings: Findings) -> Job | None:
    """The job with its change; None where too little of it can be read."""
    stack = spec_node.entries["stackSpec"].node
    given, found = parse(ToolboxSpec, stack, spec_node.key_where("stackSpec"))
    findings.extend(found)
    node = follow(stack, ["action"]).node
    if job is None or given is None or not isinstance(node, MapNode):
        return None
    _check(given.action, node, findings)
    arguments = given.action.model_dump(by_alias=True, exclude={"name"}, exclude_none=True)
    where = follow(node, ["value"]).node.where if "value" in node.entries else node.where
    dataset_where = follow(stack, ["dataset"]).node.where
    return replace(job, toolbox=Toolbox(given.dataset, given.action.name, arguments, where, dataset_where))


def _check(action: ToolboxAction, node: MapNode, findings: Findings) -> None:
    needed, possible = NEEDS[action.name]
    for key in needed:
        if key not in node.entries:
            message = f"`{key}` is missing in {action.name}"
            findings.error("missing-field", message, node.where, f"add `{key}:` to the action")
    if action.name == "rollback" and (action.snapshot is None) == (action.timestamp is None):
        hint = "add `snapshot:` or `timestamp:`, one of the two"
        findings.error("missing-field", "rollback must be told where to", node.where, hint)
    if action.name in ("partition_add", "partition_replace") and action.type not in (None, *get_args(Transform)):
        hint = did_you_mean(str(action.type), get_args(Transform)) or f"use one of {', '.join(get_args(Transform))}"
        where = follow(node, ["type"]).node.where
        findings.error("bad-transform", f"there is no transform `{action.type}`", where, hint)
    for key in node.entries:
        if key not in ("name", *needed, *possible):
            hint = f"it takes {', '.join((*needed, *possible))}"
            findings.error("unknown-key", f"`{action.name}` takes no `{key}`", node.key_where(key), hint)
