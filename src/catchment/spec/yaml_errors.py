"""Reports YAML syntax errors at the position where a person would fix them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

import yaml

from catchment.errors import Diagnostic, Position

_KEY = re.compile(r"(?P<lead>\s*(?:- +)*)(?P<key>[\w.-]+): +(?=[^\s#&*|>'\"\[{])")
_BLOCK_START = re.compile(r"\s*(?:- +)?[\w.-]+:(?:\s|$)|\s*- ")


@dataclass(frozen=True)
class Flaw:
    """A syntax error."""

    problem: Diagnostic | None
    """None if the text is valid YAML that the parser does not understand."""
    mended: str | None = None
    """The text as it was probably meant, with the same lines; None if that is unclear."""


def syntax_flaw(error: yaml.YAMLError, text: str, file: str) -> Flaw:
    """Describe an error of the YAML parser, with the mended text if there is a sensible one."""
    mark = _mark(error)
    if mark is None:
        return Flaw(_unreadable_character(error, text, file))
    lines = text.split("\n")
    line = lines[mark.line] if mark.line < len(lines) else ""
    where = Position(file, mark.line + 1, mark.column + 1)
    if "\t" in line[: mark.column + 1]:
        return _tab(lines, Position(file, mark.line + 1, line.index("\t") + 1))
    return _value_and_block(lines, where) or _colon(error, lines, where) or Flaw(_other(error, where))


def _tab(lines: list[str], where: Position) -> Flaw:
    """Report a tab, unless it is in front of a comment, where YAML allows it."""
    if lines[where.line - 1].lstrip().startswith("#"):
        return Flaw(None, _with_line(lines, where.line - 1, ""))
    return Flaw(Diagnostic("yaml-tab", "YAML does not allow tabs for indentation", where, "indent with spaces"))


def _mark(error: yaml.YAMLError) -> yaml.Mark | None:
    """The mark to report; for something that is never closed, where it was opened, not where the parser gave up."""
    opened, noticed = getattr(error, "context_mark", None), getattr(error, "problem_mark", None)
    inside = str(getattr(error, "context", ""))
    if opened and noticed and opened.line < noticed.line and ("flow" in inside or "quoted" in inside):
        return cast(yaml.Mark, opened)
    return cast("yaml.Mark | None", noticed or opened)


def _value_and_block(lines: list[str], where: Position) -> Flaw | None:
    """Report `key: value` with a block below it, and name the line to fix."""
    above = _line_above(lines, where.line - 1)
    here = lines[where.line - 1] if where.line <= len(lines) else ""
    owner = _KEY.match(lines[above]) if above is not None else None
    if owner is None or above is None or not _BLOCK_START.match(here) or _indent(here) <= len(owner["lead"]):
        return None
    key, value = owner["key"], lines[above][owner.end() :].split(" #")[0].strip()
    message = f"there is a block below `{key}`, which already has the value `{value}` on line {above + 1}"
    hint = f"remove `{value}` on line {above + 1}, so that the line ends with `{key}:`"
    mended = _with_line(lines, above, lines[above][: owner.end()])
    return Flaw(Diagnostic("value-and-block", message, where, hint), mended)


def _colon(error: yaml.YAMLError, lines: list[str], where: Position) -> Flaw | None:
    """Report a plain value with a `:` in it; the mended text has the value in quotes."""
    if not str(getattr(error, "problem", "")).startswith("mapping values are not allowed"):
        return None
    line = lines[where.line - 1]
    hint = "put the whole value in quotes, or write it as a block after `|`"
    problem = Diagnostic("yaml-syntax", "a plain value contains a `:` followed by a space", where, hint)
    owner = _KEY.match(line)
    if owner is None or owner.end() >= where.column:
        return Flaw(problem)
    value, mark, comment = line[owner.end() :].partition(" #")
    quoted = "'" + value.rstrip().replace("'", "''") + "'"
    return Flaw(problem, _with_line(lines, where.line - 1, f"{line[: owner.end()]}{quoted}{mark}{comment}"))


def _with_line(lines: list[str], number: int, line: str) -> str:
    return "\n".join([*lines[:number], line, *lines[number + 1 :]])


def _other(error: yaml.YAMLError, where: Position) -> Diagnostic:
    problem = str(getattr(error, "problem", None) or "this is not YAML")
    context = getattr(error, "context", None)
    return Diagnostic("yaml-syntax", f"{context}: {problem}" if context else problem, where, _hint(problem))


def _line_above(lines: list[str], number: int) -> int | None:
    above = (n for n in range(number - 1, -1, -1) if lines[n].strip() and not lines[n].lstrip().startswith("#"))
    return next(above, None)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _hint(problem: str) -> str:
    if "expected ':'" in problem:
        return "a key needs a `:` after it; text over several lines needs `|`"
    if "expected <block end>" in problem or "did not find expected" in problem:
        return "check the indentation and the quotes of this line and the one above"
    return "check the indentation and the quotes near this place"


def _unreadable_character(error: yaml.YAMLError, text: str, file: str) -> Diagnostic:
    at = getattr(error, "position", 0)
    before = text.encode()[:at].decode(errors="ignore") if isinstance(at, int) else ""
    where = Position(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
    return Diagnostic("yaml-character", "the file contains a control character", where, "remove it")
