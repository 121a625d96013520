"""Parses SQL with `$|key|` into a template that knows which placeholders are inside literals, comments and names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from catchment.spec.findings import Findings
from catchment.spec.source_positions import position_at
from catchment.spec.sql_template import Placeholder, Template
from catchment.spec.sql_tokens import Token, tokens
from catchment.spec.tree import Node, ScalarNode

TOKEN = re.compile(r"\$\|([^|\s]+)\|")


def read_template(sql: str, node: Node, findings: Findings) -> Template:
    """Parse SQL into a template, and report placeholders where no value is allowed.

    SQL that cannot be tokenized has no placeholders: Spark reports what is wrong with it.
    """
    sql = sql.rstrip().removesuffix(";")
    holding = tuple(_holding(sql))
    for token in holding:
        if token.kind == "name" and (found := TOKEN.search(sql, token.start, token.end)):
            message = f"`{found[0]}` is inside a quoted name, where no value can be"
            where = position_at(node, found.start()) if isinstance(node, ScalarNode) else node.where
            findings.error("misplaced-placeholder", message, where, "use placeholders for values only")
    return Template(tuple(_pieces(sql, holding)), node.where)


def _holding(sql: str) -> Iterator[Token]:
    """The literals and names that contain placeholders, and the placeholders in the code itself, in order."""
    # The tokenizer must see each placeholder as one word, whatever characters its name has.
    found = tokens(TOKEN.sub(lambda each: "_" * len(each[0]), sql)) or ()
    for token in found:
        places = TOKEN.finditer(sql, token.start, token.end)
        if token.kind == "code":
            yield from (Token("code", *place.span()) for place in places)
        elif next(places, None):
            yield token


def _pieces(sql: str, holding: tuple[Token, ...]) -> Iterator[str | Placeholder]:
    end = 0
    for token in holding:
        yield sql[end : token.start]
        end = token.end
        yield from _of_token(token, sql[token.start : token.end])
    yield sql[end:]


def _of_token(token: Token, text: str) -> Iterator[str | Placeholder]:
    if token.kind == "name":
        yield text
    elif token.kind == "code":
        yield from _filled(text, quoted=False)
    else:
        # Values are escaped, and a raw literal has no escapes, so it becomes a plain literal.
        yield from _filled(text[1:].replace("\\", "\\\\") if token.kind == "raw" else text, quoted=True)


def _filled(text: str, *, quoted: bool) -> Iterator[str | Placeholder]:
    end = 0
    for place in TOKEN.finditer(text):
        yield text[end : place.start()]
        yield Placeholder(place[1], quoted=quoted)
        end = place.end()
    yield text[end:]
