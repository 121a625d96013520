"""Maps offsets in the text of a scalar to positions in its file, so that SQL errors can be shown in the YAML."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from catchment.errors import Position
from catchment.spec.sql_clause import SourceLine
from catchment.spec.tree import ScalarNode

_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]+)*")


def source_lines(node: ScalarNode) -> tuple[SourceLine, ...]:
    """One entry for each line of the source that carries text.

    Folding, indentation and block indicators only change whitespace, so the n-th visible character is the same in the
    source and in the text. Escapes in double quotes break this rule; for those only the first line is known.
    """
    if node.lines is not None:
        return node.lines
    offsets = [index for index, character in enumerate(node.text) if not character.isspace()]
    lines = list(_content_lines(node))
    if node.style == '"' and "\\" in node.source:
        lines = lines[:1]
    counts = [0, *accumulate(_visible(text, node.style) for _, _, text in lines)]
    return tuple(
        SourceLine(offsets[count], line, column)
        for count, (line, column, text) in zip(counts, lines, strict=False)
        if count < len(offsets) and text
    )


def start_of_text(node: ScalarNode) -> Position:
    """The position of the first character of the text: after the quote, or below the block indicator."""
    lines = source_lines(node)
    return Position(node.where.file, lines[0].line, lines[0].column) if lines else node.where


def extent(node: ScalarNode) -> tuple[Position, Position]:
    """Where a scalar begins and ends in its file."""
    *above, last = node.source.split("\n")
    begin = 0 if above else node.where.column
    return node.where, Position(node.where.file, node.where.line + len(above), begin + len(last))


def position_at(node: ScalarNode, offset: int, lines: Sequence[SourceLine] | None = None) -> Position:
    """The position of the character at an offset of the text; `lines` are its `source_lines`, if already known."""
    lines = source_lines(node) if lines is None else lines
    index = bisect_right(lines, offset, key=lambda line: line.offset) - 1
    if index < 0:
        return node.where
    line = lines[index]
    return Position(node.where.file, line.line, line.column + offset - line.offset)


def _content_lines(node: ScalarNode) -> Iterator[tuple[int, int, str]]:
    """Line, column of the first visible character, and the visible text, of each line of the source."""
    first, *rest = node.source.split("\n")
    if node.style not in ("|", ">"):
        properties = _PROPERTIES.match(first)
        start = (properties.end() if properties else 0) + (node.style is not None)
        yield node.where.line, node.where.column + start, first[start:]
    for number, text in enumerate(rest, node.where.line + 1):
        visible = text.strip()
        yield number, text.index(visible) + 1, visible


def _visible(text: str, style: str | None) -> int:
    written = text.replace("''", "'") if style == "'" else text
    return sum(not character.isspace() for character in written)
