"""`${NAME}` in values becomes the environment variable NAME.

Only this form is touched: `$NAME`, `$|key|`, `${spark.conf.key}` and a lone `$` mean something in SQL, regular
expressions or incremental windows and stay as they are. `$${NAME}` stands for a literal `${NAME}`. Values are filled in
after the YAML is parsed, so that a variable can never change the structure of a file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace

from catchment.spec.findings import Findings
from catchment.spec.model import SourceLine
from catchment.spec.source_positions import position_at, source_lines
from catchment.spec.tree import Entry, ListNode, MapNode, Node, ScalarNode

_VARIABLE = re.compile(r"\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def interpolate(node: Node, env: Mapping[str, str], findings: Findings) -> Node:
    """The same tree with variables filled in; an unset one is an error."""
    if isinstance(node, ScalarNode):
        return _fill(node, env, findings) if "${" in node.text else node
    if isinstance(node, ListNode):
        return replace(node, items=tuple(interpolate(item, env, findings) for item in node.items))
    entries = {key: Entry(entry.where, interpolate(entry.node, env, findings)) for key, entry in node.entries.items()}
    return MapNode(node.where, entries)


def _fill(node: ScalarNode, env: Mapping[str, str], findings: Findings) -> ScalarNode:
    written = source_lines(node)
    pieces: list[str] = []
    ends, shifts, behind = [0], [0], []
    for match in _VARIABLE.finditer(node.text):
        filled = _value(match, env)
        if filled is None:
            where = position_at(node, match.start(), written)
            hint = f"set it, or write `$${{{match[1]}}}` for the text itself"
            findings.error("unset-variable", f"the environment variable {match[1]} is not set", where, hint)
            filled = match[0]
        pieces += [node.text[ends[-1] : match.start()], filled]
        ends.append(match.end())
        shifts.append(shifts[-1] + len(filled) - len(match[0]))
        after = position_at(node, match.end(), written)
        behind.append(SourceLine(match.end() + shifts[-1], after.line, after.column))
    text = "".join([*pieces, node.text[ends[-1] :]])
    moved = [replace(line, offset=line.offset + shifts[bisect_right(ends, line.offset) - 1]) for line in written]
    lines = tuple(sorted([*moved, *behind], key=lambda line: line.offset))
    return replace(node, value=text, text=text, lines=lines)


def _value(match: re.Match[str], env: Mapping[str, str]) -> str | None:
    return match[0][1:] if match[0].startswith("$$") else env.get(match[1])
