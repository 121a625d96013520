"""Parses SQL with `$|key|` into a template that knows which placeholders are inside literals, comments and names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from catchment.spec.findings import Findings
from catchment.spec.source_positions import position_at
from catchment.spec.sql_template import Placeholder, Template
from catchment.spec.tree import Node, ScalarNode

TOKEN = re.compile(r"\$\|([^|\s]+)\|")
_PARTS = re.compile(
    r"""
    (?P<comment> --[^\n]* | /\*.*?\*/ )
  | (?P<name>    `[^`]*` )
  | (?P<raw>     \b[rR](?:'[^']*'|"[^"]*") )
  | (?P<literal> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
  | (?P<bare>    \$\|[^|\s]+\| )
    """,
    re.DOTALL | re.VERBOSE,
)


def read_template(sql: str, node: Node, findings: Findings) -> Template:
    """Parse SQL into a template; a placeholder where no value can be is reported."""
    for part in _PARTS.finditer(sql):
        if part.lastgroup == "name" and (token := TOKEN.search(part[0])):
            message = f"`{token[0]}` is inside a quoted name, where no value can be"
            where = position_at(node, part.start() + token.start()) if isinstance(node, ScalarNode) else node.where
            findings.error("misplaced-placeholder", message, where, "use placeholders for values only")
    return Template(tuple(_pieces(sql.rstrip().removesuffix(";"))), node.where)


def _pieces(sql: str) -> Iterator[str | Placeholder]:
    end = 0
    for part in _PARTS.finditer(sql):
        yield sql[end : part.start()]
        end = part.end()
        yield from _of_part(part)
    yield sql[end:]


def _of_part(part: re.Match[str]) -> Iterator[str | Placeholder]:
    token = TOKEN.search(part[0])
    if token is None or part.lastgroup in ("comment", "name"):
        yield part[0]
    elif part.lastgroup == "bare":
        yield Placeholder(token[1], quoted=False)
    else:
        # Values are escaped, and a raw literal has no escapes, so it becomes a plain literal.
        raw = part.lastgroup == "raw"
        yield from _quoted(part[0][1:].replace("\\", "\\\\") if raw else part[0])


def _quoted(literal: str) -> Iterator[str | Placeholder]:
    end = 0
    for token in TOKEN.finditer(literal):
        yield literal[end : token.start()]
        yield Placeholder(token[1], quoted=True)
        end = token.end()
    yield literal[end:]
