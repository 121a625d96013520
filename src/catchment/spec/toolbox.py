"""Jobs of the toolbox: from the grammar to the canonical model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from catchment.spec.findings import Findings
from catchment.spec.grammar.toolbox import ToolboxAction, ToolboxSpec
from catchment.spec.model import ChangeName, Job, Toolbox
from catchment.spec.tree import MapNode, follow
from catchment.spec.validation import parse

NEEDS: Mapping[ChangeName, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "set_version": (("value",), ()),
    "branch_fast_forward": (("branch",), ("to",)),
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
    for key in node.entries:
        if key not in ("name", *needed, *possible):
            hint = f"it takes {', '.join((*needed, *possible))}"
            findings.error("unknown-key", f"`{action.name}` takes no `{key}`", node.key_where(key), hint)
