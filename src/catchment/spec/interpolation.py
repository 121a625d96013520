"""`${NAME}` in values becomes the environment variable NAME.

Only this form is touched: `$NAME`, `$|key|`, `${spark.conf.key}` and a lone `$` mean something in SQL, regular
expressions or incremental windows and stay as they are. `$${NAME}` stands for a literal `${NAME}`. Values are filled in
after the YAML was read, so that a variable can never change the structure of a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from catchment.spec.findings import Findings
from catchment.spec.model import SourceLine
from catchment.spec.textlines import position_at, source_lines
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
    pieces: list[str] = []
    lines = source_lines(node)
    end, shift = 0, 0
    for match in _VARIABLE.finditer(node.text):
        filled = _value(match, env)
        if filled is None:
            where = position_at(node, match.start())
            hint = f"set it, or write `$${{{match[1]}}}` for the text itself"
            findings.error("unset-variable", f"the environment variable {match[1]} is not set", where, hint)
            filled = match[0]
        pieces += [node.text[end : match.start()], filled]
        grown = len(filled) - len(match[0])
        end, shift = match.end(), shift + grown
        after = position_at(node, end)
        lines = (*_shifted(lines, end + shift - grown, grown), SourceLine(end + shift, after.line, after.column))
    text = "".join([*pieces, node.text[end:]])
    return replace(node, value=text, text=text, lines=lines)


def _value(match: re.Match[str], env: Mapping[str, str]) -> str | None:
    return match[0][1:] if match[0].startswith("$$") else env.get(match[1])


def _shifted(lines: tuple[SourceLine, ...], start: int, by: int) -> tuple[SourceLine, ...]:
    return tuple(replace(line, offset=line.offset + by) if line.offset >= start else line for line in lines)
