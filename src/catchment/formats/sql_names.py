"""Finds and replaces the names of tables in SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from catchment.plan.model import Dataset
from catchment.sql_parser import parse

if TYPE_CHECKING:
    from sqlglot import exp

Edit = tuple[int, int, str]
"""Start and end of the text to replace, and its replacement."""


def parsed(sql: str, catalogs: Collection[str]) -> exp.Expr | None:
    """The parsed statement if it names one of these catalogs; None if it cannot be parsed, which Spark reports."""
    return parse(sql) if any(name in sql for name in catalogs) else None


def may_name(sql: str, dataset: Dataset) -> bool:
    """Whether a statement names a dataset; also true if that cannot be ruled out."""
    own = dataset.table or (dataset.path or "").rstrip("/").rpartition("/")[2]
    if own.lower() not in sql.lower() and "identifier" not in sql.lower():
        return False
    from sqlglot import exp  # slow to import, and needed only if the SQL contains the name

    statement = parse(sql)
    if statement is None:
        return True
    tables = [f".{'.'.join(part.name for part in table.parts)}.".lower() for table in statement.find_all(exp.Table)]
    name = f".{dataset.namespace}.{dataset.table}.".lower()
    return not isinstance(statement, exp.Query) or any(
        name in table or "/" in table or table == ".identifier." for table in tables
    )


@dataclass(frozen=True)
class Edited:
    """SQL after some edits, with the edits in order."""

    sql: str
    edits: tuple[Edit, ...] = ()

    @classmethod
    def of(cls, sql: str, edits: Iterable[Edit]) -> Edited:
        """Apply all edits to a text."""
        made = tuple(sorted(edits))
        for start, end, text in reversed(made):
            sql = sql[:start] + text + sql[end:]
        return cls(sql, made)

    def origin(self, offset: int) -> int:
        """The offset in the original SQL; every offset in a replacement maps to the start of the replaced name."""
        moved = 0
        for start, end, text in self.edits:
            if offset < start + moved:
                break
            if offset < start + moved + len(text):
                return start
            moved += len(text) - (end - start)
        return offset - moved
