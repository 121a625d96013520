"""Inputs: from the grammar to the canonical model, the incremental window included."""

from __future__ import annotations

import re
from typing import Literal

from catchment.errors import Position
from catchment.spec.findings import Findings
from catchment.spec.grammar import job as grammar
from catchment.spec.model import Incremental, Input, Key
from catchment.spec.textlines import position_at
from catchment.spec.tree import MapNode, Node, ScalarNode, follow, items
from catchment.spec.unsupported import not_yet
from catchment.spec.validation import did_you_mean, parse

_TOKEN = re.compile(r"\$\|([^|\s]+)\|")


def read_inputs(job: MapNode, findings: Findings) -> tuple[Input, ...]:
    """Every input of a job that can be read."""
    found = (_input(item, findings) for item in items(job.get("inputs")))
    return tuple(one for one in found if one)


def _input(node: Node, findings: Findings) -> Input | None:
    given, found = parse(grammar.Input, node)
    findings.extend(found)
    if given is None or not isinstance(node, MapNode):
        return None
    if given.dataset is None:
        if given.query is None:
            findings.error("missing-field", "`dataset` is missing", node.where, "add `dataset:` to the input")
        return None
    return Input(
        name=given.name,
        dataset=given.dataset,
        where=node.where,
        dataset_where=follow(node, ["dataset"]).node.where,
        format=given.format.lower() if given.format else None,
        options=dict(given.options or {}),
        schema=given.schema_string,
        schema_type=_schema_type(given, node, findings),
        incremental=_incremental(given.incremental, node, findings),
    )


def _schema_type(given: grammar.Input, node: MapNode, findings: Findings) -> Literal["avro", "spark"]:
    """The dialect's default is avro; `sparkJson` is another name for spark."""
    if given.schema_string is None and given.schema_type is None:
        return "spark"
    name = (given.schema_type or "avro").lower()
    if name == "avro":
        return "avro"
    if name not in ("spark", "sparkjson"):
        where = follow(node, ["schemaType"]).node.where
        findings.error("bad-value", f"there is no schemaType `{given.schema_type}`", where, "use `avro` or `spark`")
    return "spark"


def _incremental(given: grammar.Incremental | None, node: MapNode, findings: Findings) -> Incremental | None:
    window = node.get("incremental")
    if given is None or not isinstance(window, MapNode):
        return None
    not_yet("unsupported-incremental", "incremental", node.key_where("incremental"), findings)
    key_nodes = items(window.get("keys"))
    keys = tuple(Key(key.name, key.sql, at.where) for key, at in zip(given.keys, key_nodes, strict=True))
    _check_window(given, window, findings)
    state = {move.key: move.value for move in given.state}
    return Incremental(given.context, given.sql, keys, state, window.where)


def _check_window(given: grammar.Incremental, window: MapNode, findings: Findings) -> None:
    """Every key that is used must have been given; a key's own query may use only those above it."""
    known: list[str] = []
    for index, key in enumerate(given.keys):
        _check_tokens(key.sql, known, follow(window, ["keys", index, "sql"]).node, findings)
        known.append(key.name)
    _check_tokens(given.sql, known, follow(window, ["sql"]).node, findings)
    for index, move in enumerate(given.state):
        for field, name in (("key", move.key), ("value", move.value)):
            if name not in known:
                _unknown_key(name, known, follow(window, ["state", index, field]).node.where, findings)


def _check_tokens(sql: str, known: list[str], node: Node, findings: Findings) -> None:
    for match in _TOKEN.finditer(sql):
        if match[1] not in known:
            where = position_at(node, match.start()) if isinstance(node, ScalarNode) else node.where
            _unknown_key(match[1], known, where, findings)


def _unknown_key(name: str, known: list[str], where: Position, findings: Findings) -> None:
    hint = did_you_mean(name, known) or "keys are evaluated in order; add it to `keys` above its first use"
    findings.error("unknown-incremental-key", f"no key `{name}` is known here", where, hint)
