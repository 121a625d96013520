"""Pieces of SQL in a workflow: where they stand, and which names they qualify columns with."""

from __future__ import annotations

import re

from catchment.spec.model import Clause
from catchment.spec.textlines import source_lines, start_of_text
from catchment.spec.tree import Node, ScalarNode

_NO_NAMES = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
"""Literals and comments."""
_QUALIFIER = re.compile(r"(?<![.\w`])`?(\w+)`?\s*\.(?!\d)")


def read_clause(text: str, node: Node, keyword: str) -> Clause:
    """A clause without the keyword that may begin it and the `;` that may end it; every other character stays put."""
    sql = re.sub(rf"^\s*{keyword}\b", lambda found: " " * len(found[0]), text, flags=re.IGNORECASE)
    sql = re.sub(r"\s*;\s*$", "", sql)
    if isinstance(node, ScalarNode):
        return Clause(sql, start_of_text(node), source_lines(node))
    return Clause(sql, node.where)


def qualifiers(sql: str) -> frozenset[str]:
    """The names, in lower case, that stand in front of a dot."""
    return frozenset(name.lower() for name in _QUALIFIER.findall(_NO_NAMES.sub(" ", sql)))
