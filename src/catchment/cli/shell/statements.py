"""Splits a text into statements at semicolons that are code, not part of a literal, a name or a comment."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""
    (?P<comment> --[^\n]* | /\*.*?\*/ )
  | (?P<quoted> \b[rR]'[^']*' | \b[rR]"[^"]*" | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `(?:[^`]|``)*` )
  | (?P<open> ['"`] | /\* )
  | (?P<end> ; )
  | (?P<blank> \s+ )
  | (?P<code> \w+ | . )
    """,
    re.DOTALL | re.VERBOSE,
)


def split(text: str) -> tuple[list[str], str]:
    """The complete statements without their semicolons, and the rest; a rest without code is empty."""
    done: list[str] = []
    begin, has_code = 0, False
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup
        if kind == "open":
            return done, text[begin:]
        if kind == "end":
            if has_code:
                done.append(text[begin : piece.start()].strip())
            begin, has_code = piece.end(), False
        elif kind in ("quoted", "code"):
            has_code = True
    return done, text[begin:] if has_code else ""


def is_complete(text: str) -> bool:
    """Whether every statement of a text ends with its semicolon."""
    return split(text)[1] == ""
