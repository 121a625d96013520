"""SQL as Spark reads it: which characters are code, which ones are literals, names or comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

_HIDING = re.compile(r"['\"`]|--|/\*")
"""Without any of these, all of a text is code."""
_INSIDE_NAME = re.compile(r"[^\w`]")


@dataclass(frozen=True)
class Token:
    """A piece of SQL that is no comment and no blank, from its first character to behind its last one."""

    kind: Literal["code", "literal", "raw", "name"]
    """A raw literal knows no escapes; a name stands in backticks."""
    start: int
    end: int


def tokens(sql: str) -> Sequence[Token] | None:
    """The tokens of a text in order; None where a literal, a name or a comment has no end. Spark says that better."""
    from sqlglot import TokenType
    from sqlglot.dialects.spark import Spark  # slow to import, and few workflows have SQL that is looked into
    from sqlglot.errors import TokenError

    kinds: dict[TokenType, Literal["literal", "raw", "name"]] = {
        TokenType.STRING: "literal",
        TokenType.RAW_STRING: "raw",
        TokenType.IDENTIFIER: "name",
    }
    try:
        return [Token(kinds.get(each.token_type, "code"), each.start, each.end + 1) for each in Spark().tokenize(sql)]
    except TokenError:
        return None


def code_of(sql: str) -> str | None:
    """The same text with blanks for its literals and comments, every other character in its place; None as above.

    What stands in backticks stays a name: characters that may only be there become underscores.
    """
    if not _HIDING.search(sql):
        return sql
    found = tokens(sql)
    if found is None:
        return None
    code = [" "] * len(sql)
    for token in found:
        text = sql[token.start : token.end]
        if token.kind in ("code", "name"):
            code[token.start : token.end] = _INSIDE_NAME.sub("_", text) if token.kind == "name" else text
    return "".join(code)
