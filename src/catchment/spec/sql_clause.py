"""Pieces of SQL that know where they are in their file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catchment.errors import Position


@dataclass(frozen=True)
class SourceLine:
    """The text from `offset` on is at `line`:`column` of its file."""

    offset: int
    line: int
    column: int


def sql_position(sql: str, where: Position, lines: Sequence[SourceLine], line: int, column: int) -> Position:
    """The position in its file of a place in SQL; `line` counts from 1 and `column` from 0, as in Spark's errors."""
    before = sql.split("\n")[: line - 1]
    offset = sum(len(text) + 1 for text in before) + column
    at = max((entry for entry in lines if entry.offset <= offset), key=lambda entry: entry.offset, default=None)
    return Position(where.file, at.line, at.column + offset - at.offset) if at else where


@dataclass(frozen=True)
class Clause:
    """A piece of SQL that becomes part of a statement."""

    sql: str
    where: Position
    """Position of its first character."""
    lines: tuple[SourceLine, ...] = ()

    def position(self, line: int, column: int) -> Position:
        """The position in its file of a place in the clause, counted as in Spark's errors (see `sql_position`)."""
        return sql_position(self.sql, self.where, self.lines, line, column)
