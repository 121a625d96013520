"""Names in SQL: where a query names tables of which catalogs, without a change to anything else."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

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


def edited(sql: str, edits: Iterable[Edit]) -> str:
    """The text with every edit made."""
    for start, end, text in sorted(edits, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql
