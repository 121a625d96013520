"""Environments of a project: which parts of `catchment.yaml` apply in each.

An entry of an environment replaces the entry of the same name outside `environments` as a whole. All other entries
stay. An environment is checked in full only when it is used, because the secrets of production are not set on every
machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from catchment.errors import Diagnostic, RequestError
from catchment.project.grammar import ENGINE_NAME, EnvironmentEntry
from catchment.spec.findings import Findings
from catchment.spec.references import References
from catchment.spec.tree import Entry, MapNode, Node, ScalarNode, plain
from catchment.spec.validation import did_you_mean
from catchment.spec.variables import Variable, canonical, filled, names_in, read_variables

ENVIRONMENTS = "environments"
VARS = "vars"
SECTIONS = ("depots", "engines", "notify")
"""Sections whose entries an environment replaces by name."""


def names(root: Node) -> tuple[str, ...]:
    """The environments of a project file."""
    return tuple(_environments(root))


def check(root: Node) -> Iterator[Diagnostic]:
    """The problems of all environments that can be found without using them."""
    known = list(EnvironmentEntry.model_fields)
    yield from _not_mappings(root)
    for name, entry in _environments(root).items():
        if not re.fullmatch(ENGINE_NAME, name):
            hint = "begin with a letter or digit, then letters, digits, `_` and `-`"
            yield Diagnostic("bad-environment-name", f"`{name}` cannot name an environment", entry.where, hint)
        sections = entry.node.entries if isinstance(entry.node, MapNode) else {}
        for key in (each for each in sections if each not in known):
            hint = did_you_mean(key, known) or f"an environment has {', '.join(known)}"
            yield Diagnostic("unknown-key", f"unknown key `{key}`", sections[key].where, hint)


def _not_mappings(root: Node) -> Iterator[Diagnostic]:
    section = root.get(ENVIRONMENTS) if isinstance(root, MapNode) else None
    sections = {ENVIRONMENTS: section} | {name: entry.node for name, entry in _environments(root).items()}
    for name, node in sections.items():
        if node is not None and not isinstance(node, MapNode) and plain(node) is not None:
            hint = "write `key: value` lines, indented below it"
            yield Diagnostic("wrong-type", f"`{name}` wants a mapping", node.where, hint)


def require(name: str, known: tuple[str, ...]) -> None:
    """Raise if the project has no such environment."""
    if name not in known:
        listed = f"environments are {', '.join(known)}" if known else "add it to `environments` in catchment.yaml"
        raise RequestError(
            f"the project has no environment `{name}`",
            code="unknown-environment",
            hint=did_you_mean(name, known) or listed,
        )


def within(root: Node, name: str | None) -> Node:
    """The project file as it applies in an environment, or outside of all if `name` is None; `vars` is unchanged."""
    if not isinstance(root, MapNode):
        return root
    chosen = _chosen(root, name)
    base = root.without(ENVIRONMENTS)
    for section in SECTIONS:
        own, others = chosen.get(section), base.get(section)
        if isinstance(own, MapNode):
            kept = others.entries if isinstance(others, MapNode) else {}
            base = base.having(section, Entry(chosen.key_where(section), MapNode(own.where, {**kept, **own.entries})))
    for key in (each for each in chosen.entries if each not in (*SECTIONS, VARS)):
        base = base.having(key, chosen.entries[key])
    return base


def variable_names(root: Node) -> frozenset[str]:
    """The names of the project's variables, including those whose declaration is wrong."""
    return names_in(root.get(VARS)) if isinstance(root, MapNode) else frozenset()


def variables(root: Node, name: str | None, references: References) -> dict[str, Variable]:
    """The variables of a project, with the values that an environment gives them as defaults."""
    if not isinstance(root, MapNode):
        return {}
    findings = references.findings
    declared = read_variables(filled(root.get(VARS), references), findings)
    own = filled(_chosen(root, name).get(VARS), references)
    for key, entry in own.entries.items() if isinstance(own, MapNode) else ():
        if key in declared:
            declared[key] = _valued(declared[key], entry, findings)
        else:
            hint = (
                did_you_mean(key, declared) or "declare it in `vars` outside `environments`, with or without a default"
            )
            findings.error("unknown-variable", f"there is no variable `{key}`", entry.where, hint)
    return declared


def _valued(variable: Variable, entry: Entry, findings: Findings) -> Variable:
    text = entry.node.text if isinstance(entry.node, ScalarNode) else None
    try:
        if text is None:
            raise ValueError(entry.node)
        return replace(variable, default=canonical(text, variable.type).text)
    except ValueError:
        message = f"the variable `{variable.name}` is of type {variable.type}, and this is no value of it"
        findings.error("bad-variable-value", message, entry.node.where, "write a single value of that type")
        return variable


def _chosen(root: MapNode, name: str | None) -> MapNode:
    entry = _environments(root).get(name or "")
    return entry.node if entry and isinstance(entry.node, MapNode) else MapNode(root.where)


def _environments(root: Node) -> Mapping[str, Entry]:
    section = root.get(ENVIRONMENTS) if isinstance(root, MapNode) else None
    return section.entries if isinstance(section, MapNode) else {}
