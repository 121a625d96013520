"""Actions: from the grammar to the canonical model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast, get_args

from catchment.spec.clauses import read_clause
from catchment.spec.findings import Findings
from catchment.spec.grammar import action as grammar
from catchment.spec.model import Action, ActionKind
from catchment.spec.tree import MapNode, Node, follow, items
from catchment.spec.validation import did_you_mean, parse

KNOWN: tuple[str, ...] = get_args(ActionKind)
NOT_YET = ("rewrite_dataset", "rewrite_manifest", "expire_snapshots", "remove_orphans")


def read_actions(job: MapNode, inputs: Sequence[str], taken: Sequence[str], findings: Findings) -> tuple[Action, ...]:
    """Every action of a job that can be read; `inputs` are the names of its inputs, `taken` those of its outputs."""
    found = (_action(item, inputs, findings) for item in items(job.get("actions")))
    unique: dict[str, Action] = {}
    for action in (one for one in found if one):
        name, number = action.name, 2
        while name in unique or name in taken:
            name, number = f"{action.name}-{number}", number + 1
        unique[name] = replace(action, name=name)
    return tuple(unique.values())


def _action(node: Node, inputs: Sequence[str], findings: Findings) -> Action | None:
    given, found = parse(grammar.Action, node)
    findings.extend(found)
    if given is None or not isinstance(node, MapNode) or not _is_known(given.name, node, findings):
        return None
    source = _input(given, node, inputs, findings)
    if given.delete_where is None:
        hint = "add `deleteWhere:` beside `input`"
        findings.error("missing-field", f"`deleteWhere` is missing in {given.name}", node.where, hint)
    if given.options:
        findings.warning("ignored-key", f"`{given.name}` takes no `options`", node.key_where("options"))
    if source is None or given.delete_where is None:
        return None
    where = read_clause(given.delete_where, follow(node, ["deleteWhere"]).node, "WHERE")
    return Action(given.name, cast(ActionKind, given.name), source, node.where, where)


def _is_known(name: str, node: MapNode, findings: Findings) -> bool:
    if name in KNOWN:
        return True
    where = follow(node, ["name"]).node.where
    if name in NOT_YET:
        findings.error("unsupported-actions", f"not supported yet: {name}", where, "leave it out to run the rest")
    else:
        hint = did_you_mean(name, (*KNOWN, *NOT_YET)) or f"actions that run: {', '.join(KNOWN)}"
        findings.error("unknown-action", f"there is no action `{name}`", where, hint)
    return False


def _input(given: grammar.Action, node: MapNode, inputs: Sequence[str], findings: Findings) -> str | None:
    """The input that is meant; the only one, where the action names none."""
    listed = ", ".join(inputs) or "the inputs"
    if given.input is None:
        if len(inputs) == 1:
            return inputs[0]
        hint = f"add `input:` with one of {listed}"
        findings.error("missing-field", f"`input` is missing in {given.name}", node.where, hint)
        return None
    wanted = given.input.lower()
    found = next((name for name in inputs if name.lower() == wanted), None)
    if found is None:
        hint = did_you_mean(given.input, inputs) or f"name one of {listed}"
        where = follow(node, ["input"]).node.where
        findings.error("unknown-action-input", f"the job has no input `{given.input}`", where, hint)
    return found
