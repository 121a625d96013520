"""SQL as Spark reads it: which characters are code, which ones are literals, names or comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

_HIDING = re.compile(r"['\"`]|--|/\*")
"""A text without any of these is all code."""
_INSIDE_NAME = re.compile(r"[^\w`]")


@dataclass(frozen=True)
class Token:
    """A piece of SQL that is neither comment nor whitespace; `end` is one past its last character."""

    kind: Literal["code", "literal", "raw", "name"]
    """A raw literal has no escapes; a name is in backticks."""
    start: int
    end: int


def tokens(sql: str) -> Sequence[Token] | None:
    """The tokens of a text in order; None if a literal, name or comment has no end, which Spark reports better."""
    from sqlglot import TokenType
    from sqlglot.dialects.spark import Spark  # slow to import, and few workflows have SQL to tokenize
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
    """The text with its literals and comments blanked out and the rest in place; None if it cannot be tokenized.

    A name in backticks stays a name: characters that are valid only in backticks become underscores.
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
