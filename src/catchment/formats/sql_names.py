"""Names in SQL: where a query names tables of which catalogs, without a change to anything else."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from catchment.plan.model import Dataset

if TYPE_CHECKING:
    from sqlglot import exp

Edit = tuple[int, int, str]
"""From where to where a text is replaced, and by what."""


def parsed(sql: str, catalogs: Collection[str]) -> exp.Expr | None:
    """The statement, where it names one of these catalogs and can be read; what is wrong with it is Spark's to say."""
    if not any(name in sql for name in catalogs):
        return None
    import sqlglot  # slow to import, and needed only where such a catalog is named
    from sqlglot.errors import SqlglotError

    try:
        return sqlglot.parse_one(sql, read="spark")
    except SqlglotError:
        return None


def may_name(sql: str, dataset: Dataset) -> bool:
    """Whether a statement names a dataset, or nobody can tell that it does not."""
    own = dataset.table or (dataset.path or "").rstrip("/").rpartition("/")[2]
    if own.lower() not in sql.lower() and "identifier" not in sql.lower():
        return False
    import sqlglot  # slow to import, and needed only where such a word is there
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        statement = sqlglot.parse_one(sql, read="spark")
    except SqlglotError:
        return True
    tables = [f".{'.'.join(part.name for part in table.parts)}.".lower() for table in statement.find_all(exp.Table)]
    name = f".{dataset.namespace}.{dataset.table}.".lower()
    return not isinstance(statement, exp.Query) or any(
        name in table or "/" in table or table == ".identifier." for table in tables
    )


@dataclass(frozen=True)
class Edited:
    """SQL as Spark gets it, and what was changed in it, in order."""

    sql: str
    edits: tuple[Edit, ...] = ()

    @classmethod
    def of(cls, sql: str, edits: Iterable[Edit]) -> Edited:
        """The text with every edit made."""
        made = tuple(sorted(edits))
        for start, end, text in reversed(made):
            sql = sql[:start] + text + sql[end:]
        return cls(sql, made)

    def origin(self, offset: int) -> int:
        """Where a place in this SQL was before it was changed; what replaced a name is where the name was."""
        moved = 0
        for start, end, text in self.edits:
            if offset < start + moved:
                break
            if offset < start + moved + len(text):
                return start
            moved += len(text) - (end - start)
        return offset - moved
