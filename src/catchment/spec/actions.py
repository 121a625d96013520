"""Actions: from the grammar to the canonical model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catchment.spec.clauses import read_clause
from catchment.spec.deeds import READERS
from catchment.spec.findings import Findings
from catchment.spec.grammar import action as grammar
from catchment.spec.model import Action, Deed, Delete
from catchment.spec.tree import MapNode, Node, follow, items
from catchment.spec.validation import did_you_mean, parse

DELETE = "delete_from_dataset"
KNOWN = (DELETE, *READERS)


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
    deed = _delete(given, node, findings) if given.name == DELETE else _other(given, node, findings)
    return Action(given.name, source, node.where, deed) if source is not None and deed is not None else None


def _delete(given: grammar.Action, node: MapNode, findings: Findings) -> Deed | None:
    if given.options:
        findings.warning("ignored-key", f"`{given.name}` takes no `options`", node.key_where("options"))
    if given.delete_where is None:
        hint = "add `deleteWhere:` beside `input`"
        findings.error("missing-field", f"`deleteWhere` is missing in {given.name}", node.where, hint)
        return None
    return Delete(read_clause(given.delete_where, follow(node, ["deleteWhere"]).node, "WHERE"))


def _other(given: grammar.Action, node: MapNode, findings: Findings) -> Deed | None:
    if given.delete_where is not None:
        where = node.key_where("deleteWhere")
        findings.error("unknown-key", f"`{given.name}` takes no `deleteWhere`", where, f"it belongs to {DELETE}")
    return READERS[given.name](node, findings)


def _is_known(name: str, node: MapNode, findings: Findings) -> bool:
    if name in KNOWN:
        return True
    hint = did_you_mean(name, KNOWN) or f"actions are {', '.join(KNOWN)}"
    findings.error("unknown-action", f"there is no action `{name}`", follow(node, ["name"]).node.where, hint)
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
